"""What of one look can be written. A flow of which something can't be must not hold up the others."""

from collections.abc import Sequence

import msgspec

from services.registry.changes import Entry
from topics.errors import MessageError
from topics.messages import Decision


def writable(entries: Sequence[Entry]) -> tuple[list[Entry], dict[str, str]]:
    """The entries that can be written, and of each flow that is left out what is wrong.

    What belongs to a flow goes together or not at all. A decision is only told: one that is too large goes without its
    evidence. An entry of no flow stands for itself.
    """
    slim = [_slim(entry) for entry in entries]
    faults = [_fault(entry) for entry in slim]
    wrong = {flow: fault for entry, fault in zip(slim, faults, strict=True) if fault and (flow := _flow_of(entry))}
    kept = [entry for entry, fault in zip(slim, faults, strict=True) if not fault and _flow_of(entry) not in wrong]
    return kept, wrong


def _slim(entry: Entry) -> Entry:
    topic, message = entry
    if isinstance(message, Decision) and _fault(entry):
        return topic, msgspec.structs.replace(message, evidence={})
    return entry


def _fault(entry: Entry) -> str | None:
    topic, message = entry
    try:
        topic.codec.encode(message, topic=topic.name)
    except MessageError as error:
        return str(error)
    return None


def _flow_of(entry: Entry) -> str | None:
    flow: str | None = getattr(entry[1], "flow", None)
    return flow
