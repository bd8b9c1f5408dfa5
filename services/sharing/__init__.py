"""Sharing: a flow reads what an equal segment of another flow writes, instead of running a copy of its own.

`equality` says when two segments write the same, `taps` which of a flow's segments others may serve, `counts` who
reads whom by what the registry says, `revisions` what may change meanwhile. All pure (decision 0123).
"""
