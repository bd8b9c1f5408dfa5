"""Flows made by chance: whatever their shape, file, builder, graph and partitions must agree.

The partition test runs the flow on a few records with a slow, obvious interpreter of its own, which only knows in which
partition each record is. It fails as soon as two records that an operator must see together are in different ones.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topics.expressions import compile_record
from topics.flow.builder import Flow, Stream
from topics.flow.compile import compile_flow
from topics.flow.file import check_values, parse_graph
from topics.flow.graph import FlowGraph, Operator
from topics.flow.partitioning import Partitioning, aligned
from topics.flow.problems import Problems
from topics.flow.specs import Aggregate, Dedupe, Filter, FlatMap, Join, Map, Project, Split, TopK, Union
from topics.flow.write import flow_values

NAMES = ["a", "b", "d"]
SOURCE_FIELDS = ["a", "b", "c"]
EXPRESSIONS = ["{}", "{}", "{} // 2", "1"]
RECORDS = 40
MOST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass
class Made:
    """A flow under construction: its streams, with the fields that each certainly has."""

    flow: Flow
    fields: dict[str, list[str]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)

    looked_at: set[str] = field(default_factory=set)

    def add(self, stream: Stream, fields: list[str]) -> None:
        """An operator was made from what was looked at."""
        self.fields[stream.name] = sorted(set(fields))
        self.unread -= self.looked_at
        self.unread.add(stream.name)

    def read(self, name: str) -> Stream:
        self.looked_at.add(name)
        return Stream(self.flow, name)


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    """Up to three sources and eight operators; what nobody reads goes to a sink."""
    made = Made(Flow("demo", latency_ms=draw(st.none() | st.integers(1, 1000))))
    for index in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from(["a", "a", "b", None]))
        partitions = draw(st.sampled_from([4, 4, 2, 1, None]))
        made.add(made.flow.source(f"s{index}", topic=f"t{index}", key=key, partitions=partitions), SOURCE_FIELDS)
    for index in range(draw(st.integers(2, 7))):
        made.looked_at.clear()
        draw(st.sampled_from(OPERATORS))(draw, made, f"o{index}")
    for index, name in enumerate(sorted(made.unread)):
        made.read(name).sink(f"sink{index}", topic=f"out{index}")
    return made.flow


def one(draw: st.DrawFn, made: Made) -> tuple[Stream, list[str]]:
    newest_first = list(made.fields)[::-1]  # chosen more often, so that flows grow deep
    name = newest_first[min(draw(st.sampled_from([0, 0, 0, 1, 2, 3])), len(newest_first) - 1)]
    return made.read(name), made.fields[name]


def some(draw: st.DrawFn, names: list[str], *, least: int = 1) -> list[str]:
    return draw(st.lists(st.sampled_from(names), min_size=least, max_size=2, unique=True)) if names else []


def expressions(draw: st.DrawFn, fields: list[str]) -> dict[str, str]:
    names = some(draw, NAMES)
    return {name: draw(st.sampled_from(EXPRESSIONS)).format(draw(st.sampled_from(fields))) for name in names}


def outer(name: str) -> str:
    return name.partition(".")[0]


def add_filter(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    made.add(stream.filter(f"{draw(st.sampled_from(fields))} != 1", name=name), fields)


def add_map(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    new = expressions(draw, fields)
    drop = [each for each in some(draw, fields, least=0) if "." not in each and each not in new][:1]
    left = [each for each in fields if outer(each) not in new and outer(each) not in drop]
    made.add(stream.map(new, drop=drop or None, name=name), [*left, *new])


def add_project(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    new = expressions(draw, fields)
    made.add(stream.project(new, name=name), list(new))


def add_flat_map(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    into = draw(st.sampled_from(NAMES))
    left = [each for each in fields if outer(each) != into]
    made.add(stream.flat_map(f"[{draw(st.sampled_from(fields))}, 2]", into=into, name=name), [*left, into])


def add_split(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    split = stream.split({"yes": f"{draw(st.sampled_from(fields))} == 1"}, otherwise="no", name=name)
    made.add(split["yes"], fields)
    made.looked_at.clear()
    made.add(split["no"], fields)


def add_union(draw: st.DrawFn, made: Made, name: str) -> None:
    names = sorted(made.fields)
    if len(names) < 2:
        return
    chosen = draw(st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True))
    common = set.intersection(*(set(made.fields[each]) for each in chosen))
    if common:
        made.add(made.flow.union(*(made.read(each) for each in chosen), name=name), sorted(common))


def add_dedupe(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    made.add(stream.dedupe(by=some(draw, fields), within="1m", name=name), fields)


def add_aggregate(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    by = some(draw, fields, least=0)
    emit = next((each for each in ("n", "m") if each not in by), "x")
    window: Any = draw(st.sampled_from([None, {"size": "1m"}, {"size": "1m", "hop": "20s"}, {"gap": "5s"}]))
    more = [] if window is None else ["window_start", "window_end"]
    if not set(more) & {outer(each) for each in by} and emit not in {outer(each) for each in by}:
        made.add(stream.aggregate(by=by, emit={emit: "count()"}, window=window, name=name), [*by, emit, *more])


def add_join(draw: st.DrawFn, made: Made, name: str) -> None:
    left, left_fields = one(draw, made)
    right, right_fields = one(draw, made)
    pairs = {each: draw(st.sampled_from(right_fields)) for each in some(draw, left_fields)}
    clashes = any(outer(each) in ("left", "right") for each in pairs)
    if left.name == right.name and any(a != b for a, b in pairs.items()):
        right = right.filter("a != 9", name=f"{name}-again") if "a" in right_fields else left
        pairs = pairs if "a" in right_fields else {each: each for each in pairs}
    kind = draw(st.sampled_from(["inner", "left", "outer"]))
    both = [*(f"left.{each}" for each in left_fields), *(f"right.{each}" for each in right_fields)]
    emit = {each: draw(st.sampled_from(both)) for each in some(draw, NAMES)} if clashes or draw(st.booleans()) else None
    joined = left.join(right, on=pairs, within="1m", kind=kind, emit=emit, name=name)
    made.add(joined, [*emit] if emit else [*pairs, *both])


def add_top_k(draw: st.DrawFn, made: Made, name: str) -> None:
    stream, fields = one(draw, made)
    if not any("rank" in each for each in made.fields.values()):
        ranked = stream.top_k(
            2, by=draw(st.sampled_from(fields)), per=some(draw, fields, least=0), window={"size": "1m"}, name=name
        )
        kept = [each for each in fields if outer(each) not in ("window_start", "window_end")]
        made.add(ranked, [*kept, "rank", "window_start", "window_end"])


OPERATORS: list[Callable[[st.DrawFn, Made, str], None]] = [
    add_filter,
    add_map,
    add_project,
    add_flat_map,
    add_split,
    add_union,
    add_dedupe,
    add_aggregate,
    add_join,
    add_top_k,
    add_aggregate,
    add_join,
    add_map,
]


@given(flows())
@MOST
def test_a_built_flow_and_its_file_have_the_same_graph(flow: Flow):
    """The builder, the writer, the reader and the compiler speak one language."""
    graph = flow.graph()

    assert graph == parse_graph(flow.to_yaml())
    assert graph == compile_flow(graph.spec)


@given(flows(), st.randoms(use_true_random=False))
@MOST
def test_names_and_order_do_not_matter_to_identities(flow: Flow, random):
    """Another user's file that means the same has the same identities, however its parts are called and ordered."""
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


@given(flows())
@MOST
def test_segments_hold_every_operator_once_and_can_be_drained_in_order(flow: Flow):
    """What runs fused has no re-key inside, and the segments form no circle."""
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


@given(flows())
@MOST
def test_operators_come_after_what_they_read(flow: Flow):
    """Topological order, which programs and drawings rely on."""
    graph = flow.graph()
    seen = {name for name, _ in graph.sources}
    for operator in graph.operators:
        assert {edge.upstream for edge in graph.edges_into(operator.name)} <= seen
        seen.add(operator.name)


compiled = lru_cache(compile_record)

Record = dict[str, Any]
Placed = list[tuple[int, Record]]


@given(flows(), st.data())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_records_that_belong_together_are_in_one_partition(flow: Flow, data: st.DataObject):
    """The promise of re-keys: every group and every pair of a join meets in one place, and no re-key was left out."""
    graph = flow.graph()
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
