"""The verdict on a run: what is on the broker at rest against what the oracle says.

Judged in both deliveries, as a reader of committed records sees it: nothing lost, nothing twice, nothing wrong, order
per lane, dead letters and late records complete, state equal; the same holds on the edges between segments. In
`at_least_once` readers of uncommitted records may see the outputs of a transaction that a fault cut off once more;
those are counted as `repeated`, and each of them must also be there as committed.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec

from services.host.landmarks import Landmarks
from services.host.memory import Memory
from services.host.segment_plan import SegmentPlan
from services.host.task_input import TaskInputs
from services.operators.calls import LocalCaller
from services.setaside.letters import read_letters
from tests.chaos import edges, oracle
from tests.chaos.edges import Speech
from tests.chaos.flows import Lanes
from tests.chaos.ground import NeverError, answer
from tests.chaos.observed import Committed, Observer, Row
from tests.chaos.oracle import Expected, Place, Tables
from topics import catalogue
from topics.flow.graph import FlowGraph
from topics.names import late_topic

EXAMPLES_MAX = 5


class BadVerdictError(AssertionError):
    """What a run left behind is not what it owes. No other run of the same test can take that back."""


@dataclass
class Verdict:
    """Counts of what is wrong, with examples; `repeated` and `gap_s` are no faults.

    `waited_in_vain`: something never happened, so nothing could be judged.
    """

    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    disordered: int = 0
    state_differences: int = 0
    set_aside_differences: int = 0
    repeated: int = 0
    results: int = 0
    gap_s: float = 0.0
    problems: list[str] = field(default_factory=list)
    waited_in_vain: bool = False

    @property
    def is_good(self) -> bool:
        return not self.problems

    def demand_good(self, line: str) -> None:
        """Raises if it is bad. `line`: what to say of the run."""
        if not self.is_good:
            raise NeverError(line) if self.waited_in_vain else BadVerdictError(line)

    def note(self, what: str, examples: Sequence[object]) -> None:
        """Something is wrong."""
        shown = "\n    ".join(str(each)[:400] for each in examples[:EXAMPLES_MAX])
        more = f"\n    ... and {len(examples) - EXAMPLES_MAX} more" if len(examples) > EXAMPLES_MAX else ""
        self.problems.append(f"{what}\n    {shown}{more}")


def judge(
    observer: Observer,
    graph: FlowGraph,
    plans: Sequence[SegmentPlan],
    read: Mapping[str, Sequence[Row]],
    order: Mapping[str, Lanes],
    *,
    begun_ms: int | None,
    teller: str | None = None,
) -> Verdict:
    """The verdict on a flow at rest. `read`: the records of all topics that its segments read, as they read them.

    `begun_ms`: when the first record was sent; None where sinks do not have the broker's time of writing. `teller`: the
    flow that sets its late and dead records aside, if it is another one.
    """
    verdict = Verdict()
    has_edges = any(each.source is None for plan in plans for each in plan.inputs)
    exact = graph.spec.delivery == "exactly_once" or not has_edges
    expected = oracle.whole_flow(graph, read) if exact else oracle.by_segments(plans, read)
    for sink in graph.spec.sinks:
        rows = answer(lambda sink=sink: observer.rows(sink.topic))
        verdict.results += len(rows)
        results = Counter(oracle.result(row.key, row.value) for row in rows)
        _judge_results(verdict, sink.name, expected.results.get(sink.name, Counter()), results)
        if sink.name in order:
            _judge_order(verdict, sink.name, order[sink.name], rows)
        everything = answer(lambda sink=sink: observer.rows(sink.topic, committed=False))
        _judge_repeats(verdict, sink.name, rows, everything)
        if begun_ms is not None:
            verdict.gap_s = max(verdict.gap_s, _gap_s(rows, begun_ms))
    _judge_set_aside(verdict, observer, teller or graph.spec.name, expected)
    for plan in plans:
        committed = answer(lambda plan=plan: observer.committed(plan.group))
        tasks = [oracle.segment(plan, partition, read) for partition in range(plan.partitions)]
        for partition, task in enumerate(tasks):
            kept = answer(partial(_kept, observer.bootstrap, plan, partition, committed))
            _judge_state(verdict, f"{plan.segment.id}/{partition}", task.tables, kept)
        for output in plan.outputs:
            if output.sink is None:
                owed = edges.owed(output, [task.outputs.get(output.stream, []) for task in tasks])
                found = edges.found(output.topic, answer(partial(observer.rows, output.topic)))
                judge_edge(verdict, output.topic, owed, found, keeps_order=len(plan.inputs) == 1)
    return verdict


def judge_edge(verdict: Verdict, topic: str, owed: Speech, found: Speech, *, keeps_order: bool) -> None:
    """What a segment wrote to an edge. Behind several inputs chance decides who comes first: nothing keeps order."""
    _judge_results(verdict, topic, Counter(owed.rows), Counter(found.rows))
    _judge_results(
        verdict, f"{topic}, watermarks", Counter(owed.watermarks_ms.items()), Counter(found.watermarks_ms.items())
    )
    disordered = list(found.behind)
    if keeps_order:
        lanes = found.lanes()
        disordered += [
            row
            for lane, rows in owed.lanes().items()
            if Counter(rows) == Counter(lanes.get(lane))
            for row, other in zip(lanes[lane], rows, strict=True)
            if row != other
        ]
    if disordered:
        verdict.disordered += len(disordered)
        verdict.note(f"{topic}: {len(disordered)} rows out of order, or behind a watermark", disordered)


def _judge_results(verdict: Verdict, where: str, expected: Counter[Any], found: Counter[Any]) -> None:
    missing, extra = expected - found, found - expected
    twice = [each for each in extra.elements() if each in expected]
    wrong = [each for each in extra.elements() if each not in expected]
    verdict.lost += missing.total()
    verdict.duplicated += len(twice)
    verdict.wrong += len(wrong)
    for what, examples in (("lost", list(missing.elements())), ("twice", twice), ("wrong", wrong)):
        if examples:
            verdict.note(f"{where}: {len(examples)} of {expected.total()} results {what}", examples)


def _judge_order(verdict: Verdict, sink: str, lanes: Lanes, rows: Sequence[Row]) -> None:
    reached: dict[tuple[Any, ...], Any] = {}
    backwards = []
    for row in rows:
        value = msgspec.json.decode(row.value)
        lane = (row.partition, *(value[name] for name in lanes.lane))
        if lane in reached and value[lanes.by] < reached[lane]:
            backwards.append(f"{lanes.by} {value[lanes.by]} after {reached[lane]}: {row}")
        reached[lane] = max(value[lanes.by], reached.get(lane, value[lanes.by]))
    if backwards:
        verdict.disordered += len(backwards)
        verdict.note(f"{sink}: {len(backwards)} results out of order", backwards)


def _judge_repeats(verdict: Verdict, sink: str, committed: Sequence[Row], everything: Sequence[Row]) -> None:
    known = {oracle.result(row.key, row.value) for row in committed}
    seen = {(row.partition, row.offset) for row in committed}
    repeated = [row for row in everything if (row.partition, row.offset) not in seen]
    verdict.repeated += len(repeated)
    foreign = [row for row in repeated if oracle.result(row.key, row.value) not in known]
    if foreign:
        verdict.note(f"{sink}: {len(foreign)} results that were cut off and never came again", foreign)


def _gap_s(rows: Sequence[Row], begun_ms: int) -> float:
    """The longest time without a result; sinks have the broker's time of writing."""
    times = [begun_ms, *sorted(row.timestamp for row in rows)]
    return max((after - before for before, after in pairwise(times)), default=0) / 1_000


def _judge_set_aside(verdict: Verdict, observer: Observer, flow: str, expected: Expected) -> None:
    letters = answer(lambda: list(read_letters(observer.bootstrap, flow)))
    dead = Counter(_place(each.letter.operator, each.letter.origin) for each in letters if each.letter is not None)
    topic = late_topic(flow)
    late = Counter(
        _place(record.operator, record.origin)
        for record in (
            catalogue.LATE.codec.decode(row.value, topic=topic, partition=row.partition, offset=row.offset)
            for row in answer(lambda: observer.rows(topic))
        )
    )
    for what, should, found in (("dead letters", expected.dead, dead), ("late records", expected.late, late)):
        missing, extra = list((should - found).elements()), list((found - should).elements())
        verdict.set_aside_differences += len(missing) + len(extra)
        if missing:
            verdict.note(f"{len(missing)} of {should.total()} {what} missing", missing)
        if extra:
            verdict.note(f"{len(extra)} {what} too many", extra)


def _place(operator: str, origin: Any) -> Place:
    return operator, origin.topic, origin.partition, origin.offset


def _kept(bootstrap: str, plan: SegmentPlan, partition: int, committed: Committed) -> Tables:
    """What a replica, or the next owner, would read of a task: its tables, and what its inputs remember."""
    inputs = TaskInputs(plan.inputs, partition)
    found = {each.at: committed.get(tuple(each.at), (0, "")) for each in inputs.by_name.values()}
    remembered = asyncio.run(Landmarks(bootstrap, plan, partition).recall(inputs.note(found)))
    inputs.resume(found, remembered)
    memory = Memory(plan, partition, bootstrap=bootstrap, caller=partial(LocalCaller, allow=oracle.ALLOW))
    try:
        asyncio.run(memory.rebuild(remembered.snapshot))
        return oracle.remembered(plan, memory.program, inputs)
    finally:
        asyncio.run(memory.discard())


def _judge_state(verdict: Verdict, where: str, expected: Tables, kept: Tables) -> None:
    for name in sorted(expected.keys() | kept.keys()):
        should, found = expected.get(name, {}), kept.get(name, {})
        differing = [
            f"{key!r}: expected {should.get(key)!r}, kept {found.get(key)!r}"
            for key in sorted(should.keys() | found.keys())
            if should.get(key) != found.get(key)
        ]
        if differing:
            verdict.state_differences += len(differing)
            verdict.note(f"{where}: {len(differing)} entries of table {name} differ", differing)
