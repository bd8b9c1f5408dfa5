"""Each stateless operator against the few lines of plain Python that say what it means, however its input is cut.

The expressions and their meaning are written down here by hand, so a mistake in the compiled form shows as well.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.operators import factory
from services.operators.batch import BEGINNING_MS, Batch
from services.operators.operator import Operator
from services.operators.program import Program
from services.operators.union import Union
from topics import expressions
from topics.flow import specs

Row = tuple[dict[str, Any], bytes | None, int, int]

# Fields that are missing, null, of the wrong type, nested or absurd; every record of a test is drawn from here.
RECORDS: list[dict[str, Any]] = [
    {},
    {"a": 1, "s": "x", "xs": [1, 2], "n": {"m": 1}},
    {"a": 3, "s": "y", "xs": [], "n": {"m": 0}},
    {"a": -2, "s": "x", "xs": [[7], None, {"q": 1}]},
    {"a": 2.5, "s": "", "n": {}},
    {"a": None, "s": None, "xs": None, "n": None},
    {"a": "3", "s": 5, "xs": "not a list", "n": "nothing"},
    {"a": True, "s": ["x"], "xs": {"k": 1}, "n": [1]},
    {"a": 2**70, "s": "z" * 40, "xs": [0], "extra": {"deep": [1, {"er": None}]}},
    {"s": "x", "xs": ["p", "p"], "n": {"m": 9}},
    {"a": 0, "xs": [None]},
    {"a": 10, "s": "y", "n": {"m": "text"}},
]

CONDITIONS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "a > 2": lambda r: type(r.get("a")) in (int, float) and r["a"] > 2,
    "s == 'x'": lambda r: r.get("s") == "x",
    "not (s == 'x')": lambda r: r.get("s") != "x",
    "a > 0 and s == 'x'": lambda r: type(r.get("a")) in (int, float) and r["a"] > 0 and r.get("s") == "x",
    "a is null": lambda r: r.get("a") is None,
    "n.m >= 1": lambda r: type(r.get("n")) is dict and type(r["n"].get("m")) is int and r["n"]["m"] >= 1,
    "s in ['x', 'y']": lambda r: r.get("s") in ("x", "y"),
}

FIELDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "s": lambda r: r.get("s"),
    "n.m": lambda r: r["n"].get("m") if type(r.get("n")) is dict else None,
    "coalesce(s, 'none')": lambda r: "none" if r.get("s") is None else r["s"],
    "s == 'x'": lambda r: r.get("s") == "x",
    "7": lambda r: 7,
}

KEYS = [None, b"k", b"l"]


def drawn_rows(entropy: bytes) -> list[Row]:
    """Three bytes choose a record, its key and its time: one draw of bytes is faster than many small draws."""
    triples = zip(entropy[::3], entropy[1::3], entropy[2::3], strict=False)
    return [
        (RECORDS[value % len(RECORDS)], KEYS[key % len(KEYS)], time, offset)
        for offset, (value, key, time) in enumerate(triples)
    ]


rows = st.binary(max_size=42).map(drawn_rows)
cuts = st.binary(max_size=6).map(lambda entropy: [size % 6 for size in entropy])
conditions = st.sampled_from(sorted(CONDITIONS))
named_fields = st.lists(
    st.tuples(st.sampled_from(["a", "s", "new", "xs"]), st.sampled_from(sorted(FIELDS))),
    min_size=1,
    max_size=3,
    unique_by=lambda pair: pair[0],
)


@cache
def _no_python(spec: specs.Python) -> NoReturn:
    raise AssertionError(f"{spec.call} is not one of these operators")


def make(spec: specs.OperatorSpec) -> Operator:
    """Stateless operators can be used again, which spares the compiling."""
    return factory.make("made", spec, failures=[], caller=_no_python)


parse = cache(expressions.parse)


def batches(given_rows: list[Row], sizes: list[int]) -> Iterator[Batch]:
    """The rows cut into batches of these sizes (some empty), the rest as one; watermarks only count up."""
    start = 0
    for number, size in enumerate([*sizes, len(given_rows)]):
        part = given_rows[start : start + size]
        start += size
        yield Batch(*([list(column) for column in zip(*part, strict=True)] or [[], [], [], []]), watermark_ms=number)


def rows_of(batch: Batch) -> list[Row]:
    return list(zip(batch.values, batch.keys, batch.times, batch.offsets, strict=True))


def run(operator: Operator, given_rows: list[Row], sizes: list[int]) -> list[Row]:
    found: list[Row] = []
    for batch in batches(given_rows, sizes):
        output = operator.process(batch, 0)
        assert isinstance(output, Batch)
        assert batch.watermark_ms == output.watermark_ms
        found += rows_of(output)
    return found


@settings(max_examples=900)
@given(rows, cuts, conditions)
def test_a_filter_keeps_exactly_the_records_for_which_its_condition_is_true(given_rows, sizes, where) -> None:
    """Null, false and wrong types must all drop a record: a filter that lets doubt through corrupts what follows."""
    expected = [row for row in given_rows if CONDITIONS[where](row[0])]
    assert expected == run(make(specs.Filter("in", parse(where))), given_rows, sizes)


@settings(max_examples=700)
@given(rows, cuts, named_fields)
def test_a_projection_has_the_named_fields_and_no_others(given_rows, sizes, fields) -> None:
    """Consumers rely on every field being there, null or not."""
    spec = specs.Project("in", tuple((name, parse(text)) for name, text in fields))
    expected = [({name: FIELDS[text](value) for name, text in fields}, *rest) for value, *rest in given_rows]
    assert expected == run(make(spec), given_rows, sizes)


@settings(max_examples=700)
@given(rows, cuts, st.one_of(st.just([]), named_fields), st.sets(st.sampled_from(["a", "s", "xs", "gone"]), max_size=2))
def test_a_map_sets_and_drops_fields_and_leaves_its_input_alone(given_rows, sizes, fields, drop) -> None:
    """Values are shared between branches of a flow: a map that changed its input would change its siblings' too."""
    before = [dict(value) for value, *_ in given_rows]
    expected = []
    for value, *rest in given_rows:
        made = {name: each for name, each in value.items() if name not in drop}
        for name, text in fields:
            made[name] = FIELDS[text](value)
        expected.append((made, *rest))
    spec = specs.Map("in", tuple((name, parse(text)) for name, text in fields), tuple(sorted(drop)))
    assert expected == run(make(spec), given_rows, sizes)
    assert before == [value for value, *_ in given_rows]


@settings(max_examples=700)
@given(rows, cuts, st.sampled_from(["item", "xs"]))
def test_a_flat_map_gives_one_record_for_each_element(given_rows, sizes, into) -> None:
    """What is not a list has no elements; it must neither fail nor pass as one element."""
    expected = []
    for value, *rest in given_rows:
        if type(value.get("xs")) is list:
            for element in value["xs"]:
                expected.append((dict(value, **{into: element}), *rest))
    assert expected == run(make(specs.FlatMap("in", parse("xs"), into)), given_rows, sizes)


@settings(max_examples=700)
@given(rows, cuts, st.lists(conditions, min_size=1, max_size=3), st.booleans())
def test_a_split_gives_each_record_to_the_first_route_that_takes_it(given_rows, sizes, wheres, has_rest) -> None:
    """A record on two routes would be counted twice where they meet again."""
    routes = tuple((f"r{i}", parse(where)) for i, where in enumerate(wheres))
    operator = make(specs.Split("in", routes, "rest" if has_rest else None))
    expected: list[list[Row]] = [[] for _ in range(len(wheres) + has_rest)]
    for row in given_rows:
        taken = [i for i, where in enumerate(wheres) if CONDITIONS[where](row[0])]
        if taken or has_rest:
            expected[taken[0] if taken else -1].append(row)
    found: list[list[Row]] = [[] for _ in expected]
    for batch in batches(given_rows, sizes):
        for i, output in enumerate(operator.process(batch, 0)):
            assert batch.watermark_ms == output.watermark_ms
            found[i] += rows_of(output)
    assert expected == found


@settings(max_examples=500)
@given(rows)
def test_a_union_passes_everything_on_and_is_as_far_as_its_slowest_input(given_rows) -> None:
    """A watermark ahead of one input would close windows that this input still has records for."""
    operator = Union(specs.Union(("a", "b", "c")))
    reached = [BEGINNING_MS] * 3
    for value, key, watermark_ms, offset in given_rows:
        port = KEYS.index(key)
        reached[port] = max(reached[port], watermark_ms)
        output = operator.process(Batch([value], [None], [99], [offset], watermark_ms), port)
        assert ([value], [None], [99], [offset], min(reached)) == (
            output.values,
            output.keys,
            output.times,
            output.offsets,
            output.watermark_ms,
        )


@settings(max_examples=400)
@given(rows, cuts, conditions)
def test_what_is_split_and_united_again_comes_in_its_old_order(given_rows, sizes, where) -> None:
    """Operators that look at order (dedupe, first, last) must not depend on where the input was cut."""
    program = Program(
        {
            "s": specs.Split("in", (("yes", parse(where)),), "no"),
            "marked": specs.Map("s.yes", (("mark", parse("1")),)),
            "both": specs.Union(("marked", "s.no")),
        },
        inputs=["in"],
        outputs=["both"],
    )
    expected = [({**row[0], "mark": 1} if CONDITIONS[where](row[0]) else row[0], *row[1:]) for row in given_rows]
    found: list[Row] = []
    for batch in batches(given_rows, sizes):
        output = program.process("in", batch)["both"]
        assert batch.watermark_ms == output.watermark_ms
        found += rows_of(output)
    assert expected == found


@pytest.mark.parametrize("operator", [make(specs.Filter("in", parse("a > 1"))), Union(specs.Union(("in",)))])
def test_a_batch_without_records_carries_only_the_watermark(operator: Operator) -> None:
    """Time must move on through quiet partitions."""
    assert Batch.empty(7) == operator.process(Batch.empty(7), 0)
