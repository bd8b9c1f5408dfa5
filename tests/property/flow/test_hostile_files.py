"""Whatever bytes come as a flow file, the answer is a graph or a FlowError that points into the file."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from topics.flow.document import Value
from topics.flow.file import check_values, parse_graph
from topics.flow.problems import FlowError, Problems

GOOD = [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "flows" / "good").glob("*.yaml"))]
PIECES = [
    b"",
    b"{",
    b"}",
    b"[",
    b"]",
    b": ",
    b", ",
    b"- ",
    b"\n",
    b"'",
    b'"',
    b"*a",
    b"&a ",
    b"!!int ",
    b"\xff",
    b"\t",
    b"null",
]
WORDS = [
    "flow",
    "sources",
    "operators",
    "sinks",
    "op",
    "input",
    "filter",
    "where",
    "topic",
    "join",
    "on",
    "by",
    "emit",
    "s",
    "f",
]
MOST = settings(max_examples=100)


def graph_or_problems(content: bytes) -> None:
    try:
        parse_graph(content)
    except FlowError as error:
        refused = error
    else:
        return
    lines = [problem.place.line for problem in refused.problems if problem.place is not None]
    assert refused.problems
    assert str(refused)
    assert all(1 <= line <= content.count(b"\n") + 2 for line in lines)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    content = draw(st.sampled_from(GOOD))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        content = content[:start] + draw(st.sampled_from(PIECES)) + content[end:]
    return content


@given(damaged())
@MOST
def test_a_damaged_file_gets_problems_in_its_own_lines(content: bytes):
    """Slips of the keyboard are the usual case."""
    graph_or_problems(content)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
@MOST
def test_any_bytes_get_an_answer(content: bytes):
    """Nothing that is not a FlowError leaves the reader."""
    graph_or_problems(content)


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(WORDS)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=25,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("flow", "qos", "sources", "operators", "sinks"), values)))
@MOST
def test_any_values_get_an_answer(value: Value):
    """Every value may stand where another one was expected."""
    problems = Problems()

    assert (check_values(value, problems) is None) == bool(problems.found)
