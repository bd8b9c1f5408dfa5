"""Flows made by chance, of every operator and shape."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st

from topics.flow.builder import Flow, Stream

NAMES = ["a", "b", "d"]
SOURCE_FIELDS = ["a", "b", "c"]
EXPRESSIONS = ["{}", "{}", "{} // 2", "1"]


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
def made_flows(draw: st.DrawFn) -> Flow:
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


@pytest.fixture(scope="session")
def flows() -> st.SearchStrategy[Flow]:
    """Up to three sources and eight operators; what nobody reads goes to a sink."""
    return made_flows()
