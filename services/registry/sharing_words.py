"""What a flow shares with others, in words for people. Pure."""

from services.registry.view import RegistryView
from topics.messages import Placement


def shared_lines(view: RegistryView, flow: str) -> list[str]:
    """One line for each segment that the flow reads of another one, or runs for others too."""
    own = [each for _, each in sorted(view.placements.items()) if each.flow == flow and each.host is not None]
    read = {edge.tap.server_segment: edge.tap.server for each in own for edge in each.reads}
    lines = [f"reads what {_operators(view, segment)} of {server} give" for segment, server in sorted(read.items())]
    served = {each.segment: each for each in own if each.serves}
    return lines + [_serves(each) for each in served.values()]


def lingers_for(view: RegistryView, flow: str) -> tuple[str, ...]:
    """The flows for which a part of this one goes on when it is withdrawn, in order."""
    entries = [each for each in view.placements.values() if each.flow == flow and each.host is not None]
    return tuple(sorted({tapper for each in entries for tapper in each.serves}))


def _operators(view: RegistryView, segment: str) -> str:
    entry = next((each for each in view.placements.values() if each.segment == segment), None)
    return ", ".join(entry.operators) if entry is not None else segment


def _serves(entry: Placement) -> str:
    return f"runs {', '.join(entry.operators)} for {', '.join(entry.serves)}, too"
