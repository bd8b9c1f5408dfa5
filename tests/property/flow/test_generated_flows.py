"""Flows made by chance: whatever their shape, file, builder, graph and partitions must agree.

The partition test runs the flow on a few records with a slow, obvious interpreter of its own, which only knows in which
partition each record is. It fails as soon as two records that an operator must see together are in different ones.
"""

import zlib
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from topics.expressions import compile_record
from topics.flow.builder import Flow
from topics.flow.compile import checked_graph
from topics.flow.file import check_values, parse_graph
from topics.flow.graph import FlowGraph, Operator
from topics.flow.partitioning import Partitioning, aligned
from topics.flow.problems import Problems
from topics.flow.specs import Aggregate, Dedupe, Filter, FlatMap, Join, Map, Project, Split, TopK, Union
from topics.flow.write import flow_values

SOURCE_FIELDS = ["a", "b", "c"]
Flows = st.SearchStrategy[Flow]
RECORDS = 40
MOST = settings(max_examples=60)


@given(data=st.data())
@MOST
def test_a_built_flow_and_its_file_have_the_same_graph(data: st.DataObject, flows: Flows):
    """The builder, the writer, the reader and the compiler speak one language."""
    flow = data.draw(flows)
    graph = flow.graph()

    assert graph == parse_graph(flow.to_yaml())
    assert graph == checked_graph(graph.spec, {}, Problems(), lambda path: None)


@given(data=st.data(), random=st.randoms(use_true_random=False))
@MOST
def test_names_and_order_do_not_matter_to_identities(data: st.DataObject, random, flows: Flows):
    """Another user's file that means the same has the same identities, however its parts are called and ordered."""
    flow = data.draw(flows)
    spec = flow.spec()
    values: Any = flow_values(spec)
    names = {name for section in ("sources", "operators", "sinks") for name in values[section]}
    renamed = {name: f"x{position}" for position, name in enumerate(random.sample(sorted(names), len(names)))}

    def rename(stream: str) -> str:
        name, dot, route = stream.partition(".")
        return renamed[name] + dot + {"yes": "up", "no": "down"}.get(route, route)

    def shuffled(mapping: dict[str, Any]) -> dict[str, Any]:
        return dict(random.sample(list(mapping.items()), len(mapping)))

    other: Any = {"flow": "another", "qos": {"weight": 3}}
    for section in ("operators", "sinks", "sources"):
        other[section] = shuffled({renamed[name]: shuffled(keys) for name, keys in values[section].items()})
        for keys in other[section].values():
            for key in ("input", "left", "right"):
                if key in keys:
                    keys[key] = rename(keys[key])
            if "inputs" in keys:
                keys["inputs"] = [rename(stream) for stream in random.sample(keys["inputs"], len(keys["inputs"]))]
            for key in ("emit", "set"):
                if key in keys:
                    keys[key] = shuffled(keys[key])
            if "routes" in keys:
                keys |= {"routes": {"up": keys["routes"]["yes"]}, "otherwise": "down"}
    problems = Problems()
    graph = check_values(other, problems)

    assert graph is not None, problems.found
    expected = {renamed[each.name]: each.identity for each in flow.graph().operators if not each.inserted}
    assert expected == {each.name: each.identity for each in graph.operators if not each.inserted}


@given(data=st.data())
@MOST
def test_segments_hold_every_operator_once_and_can_be_drained_in_order(data: st.DataObject, flows: Flows):
    """What runs fused has no re-key inside, and the segments form no circle."""
    flow = data.draw(flows)
    graph = flow.graph()
    owner = {name: segment.id for segment in graph.segments for name in segment.operators}
    inner = [edge for edge in graph.edges if edge.kind not in ("source", "sink")]

    assert sorted(each.name for each in graph.operators) == sorted(n for s in graph.segments for n in s.operators)
    assert len(graph.segments) == len({segment.id for segment in graph.segments})
    assert all((owner[edge.upstream] == owner[edge.target]) == (edge.kind == "fused") for edge in inner)
    done: set[str] = set()
    while len(done) < len(graph.segments):
        ready = {
            segment.id
            for segment in graph.segments
            if segment.id not in done and all(owner.get(edge.upstream, "") in done | {""} for edge in segment.inputs)
        }
        assert ready, "segments wait for each other"
        done |= ready


@given(data=st.data())
@MOST
def test_operators_come_after_what_they_read(data: st.DataObject, flows: Flows):
    """Topological order, which programs and drawings rely on."""
    flow = data.draw(flows)
    graph = flow.graph()
    seen = {name for name, _ in graph.sources}
    for operator in graph.operators:
        assert {edge.upstream for edge in graph.edges_into(operator.name)} <= seen
        seen.add(operator.name)


compiled = lru_cache(compile_record)

Record = dict[str, Any]
Placed = list[tuple[int, Record]]


@given(data=st.data())
@settings(max_examples=200)
def test_records_that_belong_together_are_in_one_partition(data: st.DataObject, flows: Flows):
    """The promise of re-keys: every group and every pair of a join meets in one place, and no re-key was left out."""
    graph = data.draw(flows).graph()
    streams: dict[str, Placed] = {}
    for source in graph.spec.sources:
        count = source.partitions or data.draw(st.integers(2, 4))
        values = [dict(zip(SOURCE_FIELDS, each, strict=True)) for each in product(range(4), range(4), range(2))]
        streams[source.name] = [
            (chosen("producer", [record[source.key]], count) if source.key else position % count, record)
            for position, record in enumerate(values)
        ]
    for operator in graph.operators:
        inputs = [arrived(graph, operator, streams, port) for port in range(len(graph.edges_into(operator.name)))]
        for route, output in run(operator, inputs).items():
            # A few dozen records of all kinds are enough, however many a join has made.
            some_of_it = output[:: len(output) // RECORDS + 1]
            streams[operator.name if route is None else f"{operator.name}.{route}"] = some_of_it
    for name, records in streams.items():
        key_holds(name, graph.stream(name).partitioning, records)
    for one_name, other_name in combinations(streams, 2):
        partitionings = graph.stream(one_name).partitioning, graph.stream(other_name).partitioning
        keys_match(partitionings, (streams[one_name], streams[other_name]))


def key_holds(name: str, partitioning: Partitioning, records: Placed) -> None:
    """What the compiler claims of a stream: its key fields, under any of their names, decide the partition."""
    assert all(partitioning.partitions is None or partition < partitioning.partitions for partition, _ in records)
    for names in product(*map(sorted, partitioning.fields or ())):
        if names:
            together(name, records, names)


def keys_match(partitionings: tuple[Partitioning, Partitioning], records: tuple[Placed, Placed]) -> None:
    """What the compiler claims of two aligned streams: equal keys are in partitions of the same number."""
    one, other = partitionings
    if one.fields and other.fields and len(one.fields) == len(other.fields) and aligned(one, other):
        keys = [tuple(min(names) for names in each.fields or ()) for each in partitionings]
        places: dict[str, int] = {}
        for names, placed in zip(keys, records, strict=True):
            for partition, record in placed:
                key = repr([get(record, name) for name in names])
                assert partition == places.setdefault(key, partition), f"key {key} is in two partitions"


def arrived(graph: FlowGraph, operator: Operator, streams: dict[str, Placed], port: int) -> Placed:
    edge = graph.edges_into(operator.name)[port]
    if edge.rekey is None:
        return streams[edge.stream]
    rekey = edge.rekey
    return [(chosen("flow", [get(r, name) for name in rekey.by], rekey.partitions), r) for _, r in streams[edge.stream]]


def run(operator: Operator, inputs: list[Placed]) -> dict[str | None, Placed]:  # noqa: PLR0911 - a table
    spec, records = operator.spec, inputs[0]
    match spec:
        case Filter():
            where = compiled(spec.where)
            return {None: [(p, r) for p, r in records if where(r) is True]}
        case Project():
            made = {name: compiled(each) for name, each in spec.fields}
            return {None: [(p, {name: compute(r) for name, compute in made.items()}) for p, r in records]}
        case Map():
            made = {name: compiled(each) for name, each in spec.set}
            kept = [(p, r, {k: v for k, v in r.items() if k not in spec.drop}) for p, r in records]
            return {None: [(p, {**k, **{n: compute(r) for n, compute in made.items()}}) for p, r, k in kept]}
        case FlatMap():
            each = compiled(spec.each)
            return {None: [(p, {**r, spec.into: element}) for p, r in records for element in each(r)]}
        case Split():
            where = compiled(spec.routes[0][1])
            return {
                "yes": [(p, r) for p, r in records if where(r) is True],
                "no": [(p, r) for p, r in records if where(r) is not True],
            }
        case Union():
            return {None: [placed for each in inputs for placed in each]}
        case Dedupe():
            together(operator.name, records, spec.by)
            return {None: records}
        case TopK():
            together(operator.name, records, spec.per)
            return {None: [(p, {**r, "rank": 1, "window_start": 0, "window_end": 60_000}) for p, r in records]}
        case Aggregate():
            together(operator.name, records, spec.by)
            return {None: [(p, nested(r, spec.by) | {each.name: 1 for each in spec.emit} | WINDOW) for p, r in records]}
        case Join():
            return {None: pairs(operator, spec, inputs[0], inputs[1])}
    raise AssertionError(spec)


WINDOW = {"window_start": 0, "window_end": 60_000}


def pairs(operator: Operator, spec: Join, left: Placed, right: Placed) -> Placed:
    lefts, rights = [a for a, _ in spec.on], [b for _, b in spec.on]
    rows: list[tuple[int, Record | None, Record | None]] = []
    matched: set[int] = set()
    for p, a in left:
        partners = []
        for index, (q, b) in enumerate(right):
            keys = [get(a, name) for name in lefts]
            if None not in keys and keys == [get(b, name) for name in rights]:
                assert p == q, f"{operator.name}: {a} and {b} cannot meet"
                partners.append((p, a, b))
                matched.add(index)
        rows += partners or ([(p, a, None)] if spec.kind != "inner" else [])
    if spec.kind == "outer":
        rows += [(q, None, b) for index, (q, b) in enumerate(right) if index not in matched]
    made = {name: compiled(each) for name, each in spec.emit}
    output: Placed = []
    for p, a, b in rows:
        both = {"left": a, "right": b}
        if made:
            output.append((p, {name: compute(both) for name, compute in made.items()}))
        else:
            keys = {one: get(a, one) if a is not None else get(b or {}, other) for one, other in spec.on}
            output.append((p, {**both, **nested_values(keys)}))
    return output


def together(name: str, records: Placed, by: tuple[str, ...]) -> None:
    places: dict[str, int] = {}
    for partition, record in records:
        group = repr([get(record, name) for name in by])
        assert partition == places.setdefault(group, partition), f"{name}: group {group} is in two partitions"


def chosen(hashing: str, key: list[Any], partitions: int) -> int:
    return zlib.crc32(repr((hashing, key)).encode()) % partitions


def get(record: Record | None, path: str) -> Any:
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def nested(record: Record, by: tuple[str, ...]) -> Record:
    return nested_values({name: get(record, name) for name in by})


def nested_values(values: dict[str, Any]) -> Record:
    made: Record = {}
    for path, value in values.items():
        *above, last = path.split(".")
        inner = made
        for name in above:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return made
