"""What must be written to the registry for a flow to run, move or end. Pure: a view goes in, messages come out."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from services.registry.errors import RegistryError
from services.registry.revisions import check_no_history_twice
from services.registry.sharing_counts import fixed_taps
from services.registry.sharing_revisions import check_serving, taps_of
from services.registry.view import RegistryView, Slot
from topics import catalogue
from topics.expressions.errors import did_you_mean, nearest_word
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph
from topics.flow.problems import FlowError
from topics.messages import FlowRevision, Message, Placement
from topics.topic import Topic

Entry = tuple[Topic[Any], Message]

WRITTEN_BY = "cli"


def submitted(
    view: RegistryView,
    graph: FlowGraph,
    text: str,
    placed: Mapping[Slot, str],
    *,
    now_ms: int,
    topics: Mapping[str, int] | None = None,
) -> list[Entry]:
    """The flow as it is written now, running where `placed` says. What is so already is not written again.

    `topics`: how many partitions its source topics have; whoever places anything has counted them.

    Raises RegistryError if it shares segments with others and could not go on doing so, or if part of it would get its
    history a second time.
    """
    name = graph.spec.name
    known = view.flows.get(name)
    if placed and fixed_taps(view, name):
        raise RegistryError(f"{name} reads segments of other flows", "let ants place it, with stigmergy submit")
    entries: list[Entry] = []
    if known is not None and (known.state, known.text) == ("submitted", text):
        revision = known.revision
    else:
        check_serving(view, graph)
        taps_of(view, graph)
        if known is not None:
            with contextlib.suppress(FlowError):  # what does not compile has never run
                check_no_history_twice(parse_graph(known.text), graph)
        revision = known.revision + 1 if known is not None else 1
        flow = FlowRevision(
            flow=name,
            revision=revision,
            state="submitted",
            text=text,
            delivery=graph.spec.delivery,
            changed_ms=now_ms,
            changed_by=WRITTEN_BY,
        )
        entries.append((catalogue.FLOWS, flow))
    operators, counts = {segment.id: segment.operators for segment in graph.segments}, dict(topics or {})
    for (segment, partition), host in sorted(placed.items()):
        before = view.placements.get((segment, partition))
        if before is not None and (before.host, before.revision) == (host, revision):
            if before.source_partitions != counts:
                entries.append((catalogue.PLACEMENTS, msgspec.structs.replace(before, source_partitions=counts)))
            continue
        placement = Placement(
            segment=segment,
            partition=partition,
            epoch=before.epoch + 1 if before is not None else 1,
            host=host,
            flow=name,
            revision=revision,
            operators=operators[segment],
            placed_ms=now_ms,
            serves=before.serves if before is not None else (),
            promise=before.promise if before is not None else None,
            source_partitions=counts,
        )
        entries.append((catalogue.PLACEMENTS, placement))
    return entries + _cleared(view, name, except_for=placed, now_ms=now_ms)


def withdrawn(view: RegistryView, name: str, *, now_ms: int) -> list[Entry]:
    """The flow no longer wanted, and nothing of it placed anywhere but what other flows read."""
    known = flow_of(view, name)
    if known.state == "withdrawn":
        raise RegistryError(f"flow {name} is withdrawn already", "submit it again with stigmergy submit FILE")
    ended = msgspec.structs.replace(
        known, revision=known.revision + 1, state="withdrawn", changed_ms=now_ms, changed_by=WRITTEN_BY
    )
    return [(catalogue.FLOWS, ended), *_cleared(view, name, except_for={}, now_ms=now_ms)]


def assigned(
    view: RegistryView,
    slot: Slot,
    host: str,
    *,
    now_ms: int,
    standbys: Sequence[str] | None = None,
    living: Collection[str] = (),
) -> Placement:
    """One slot on another host, with the next epoch. The standbys stay as they are unless others are given.

    A former owner that is among the `living` drains before the new one begins; whoever writes this takes its name back
    (`let_go`) when it has. Any other is fenced at once.
    """
    before = view.placements[slot]
    others = before.standbys if standbys is None else standbys
    followers = tuple(name for name in dict.fromkeys(others) if name != host)
    origin = before.host if before.host != host and before.host in living else None
    return msgspec.structs.replace(
        before, host=host, epoch=before.epoch + 1, placed_ms=now_ms, standbys=followers, origin=origin
    )


def let_go(view: RegistryView, placements: Iterable[Placement]) -> list[Entry]:
    """Nobody waits for the former owners of these any more. What has been written anew since is left alone."""
    return [
        (catalogue.PLACEMENTS, msgspec.structs.replace(each, origin=None))
        for each in placements
        if each.origin is not None and view.placements.get((each.segment, each.partition)) == each
    ]


def flow_of(view: RegistryView, name: str) -> FlowRevision:
    """The flow of this name. Raises RegistryError."""
    if name not in view.flows:
        known = ", ".join(sorted(view.flows)) or "none"
        near = did_you_mean(nearest_word(name, view.flows))
        raise RegistryError(f"there is no flow {name!r}", f"the flows are: {known}{near}")
    return view.flows[name]


def _cleared(view: RegistryView, name: str, *, except_for: Mapping[Slot, str], now_ms: int) -> list[Entry]:
    """Nobody runs the flow's other slots any more; their entries stay, because an epoch never starts again."""
    return [
        (
            catalogue.PLACEMENTS,
            msgspec.structs.replace(each, host=None, epoch=each.epoch + 1, placed_ms=now_ms, origin=None),
        )
        for slot, each in sorted(view.placements.items())
        if each.flow == name and each.host is not None and slot not in except_for and not each.serves
    ]
