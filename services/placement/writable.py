"""What of one look can be written. A flow of which something can't be must not hold up the others."""

from collections.abc import Sequence

from services.registry.changes import Entry
from services.registry.decisions import fault_of, slimmed


def writable(entries: Sequence[Entry]) -> tuple[list[Entry], dict[str, str]]:
    """The entries that can be written, and of each flow that is left out what is wrong.

    What belongs to a flow goes together or not at all. A decision is only told: one that is too large goes without its
    evidence. An entry of no flow stands for itself.
    """
    slim = [slimmed(*entry) for entry in entries]
    faults = [fault_of(*entry) for entry in slim]
    wrong = {flow: fault for entry, fault in zip(slim, faults, strict=True) if fault and (flow := _flow_of(entry))}
    kept = [entry for entry, fault in zip(slim, faults, strict=True) if not fault and _flow_of(entry) not in wrong]
    return kept, wrong


def _flow_of(entry: Entry) -> str | None:
    flow: str | None = getattr(entry[1], "flow", None)
    return flow
