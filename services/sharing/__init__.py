"""Sharing: a flow reads what an equal segment of another flow writes, instead of running a copy of its own.

`equality` says when two segments write the same, `taps` which of a flow's segments others may serve. Who reads whom,
and what may change meanwhile, follows from the registry (`services/registry/sharing_*`). All pure (decision 0123).
"""
