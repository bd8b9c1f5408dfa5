"""Every file under tests/flows/bad is refused with exactly the text in the `.txt` beside it."""

from pathlib import Path

import pytest

from topics.flow.file import load_graph, parse_graph
from topics.flow.limits import FILE_BYTES_MAX, OPERATORS_MAX, SOURCES_MAX
from topics.flow.problems import FlowError, render

BAD = sorted((Path(__file__).parents[2] / "flows" / "bad").glob("*.yaml"))


def refusal(content: str | bytes, filename: str = "flow.yaml") -> FlowError:
    with pytest.raises(FlowError) as caught:
        parse_graph(content, filename=filename)
    return caught.value


def test_there_are_at_least_forty_bad_files():
    """The issue asks for as many; a glob that finds nothing must not pass."""
    assert len(BAD) >= 40


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_bad_file_gets_its_expected_message(file: Path):
    """The message is what a user has to work with: words, line and caret are all part of it."""
    expected = file.with_suffix(".txt").read_text()

    assert expected == str(refusal(file.read_bytes(), file.name)) + "\n"


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_every_problem_has_a_line_and_a_column(file: Path):
    """Only an empty file has no place to point to."""
    problems = refusal(file.read_bytes()).problems

    assert [] == [problem for problem in problems if problem.place is None and file.stem != "001-empty"]


def test_a_file_above_the_limit_is_refused_unread():
    """Size is checked before the YAML parser sees a byte."""
    sizes = f"the file has {FILE_BYTES_MAX + 1:,} bytes; at most {FILE_BYTES_MAX:,} are allowed"

    assert f"flow.yaml: {sizes}, so split the flow" == str(refusal(b"#" * (FILE_BYTES_MAX + 1)))


def test_too_many_operators_are_refused_with_the_limit():
    """A flow has a bounded size, so that compiling and placing it has too."""
    operators = "".join(f"  f{i}: {{op: filter, input: s, where: a}}\n" for i in range(OPERATORS_MAX + 1))
    text = f"flow: demo\nsources:\n  s: {{topic: s}}\noperators:\n{operators}sinks:\n  out: {{input: f0, topic: out}}\n"

    first = refusal(text).problems[0]

    assert ("operators", f"has {OPERATORS_MAX + 1} of them", f"0 to {OPERATORS_MAX} entries") == (
        first.path[0],
        first.message,
        first.expected,
    )


def test_too_many_sources_are_refused_with_the_limit():
    """The same holds for sources."""
    sources = "".join(f"  s{i}: {{topic: t{i}}}\n" for i in range(SOURCES_MAX + 1))

    problems = refusal(f"flow: demo\nsources:\n{sources}sinks:\n  out: {{input: s0, topic: out}}\n").problems

    assert f"has {SOURCES_MAX + 1} of them" in [problem.message for problem in problems]


def test_many_problems_are_counted_not_all_printed():
    """A screen is enough; the number tells that there is more."""
    sources = "".join(f"  s{i}: {{topics: t{i}}}\n" for i in range(SOURCES_MAX))
    error = refusal(f"flow: demo\nsources:\n{sources}sinks:\n  out: {{input: s0, topic: out}}\n")

    assert str(error).endswith(f"and {len(error.problems) - 100:,} more problems")


def test_the_caret_stands_below_the_fault_in_a_long_line():
    """A line of thousands of characters is cut around the fault, so that the caret stays on the screen."""
    fields = ", ".join(f"field_{i}: int" for i in range(200))
    source = f"sources: {{s: {{topic: s, schema: {{{fields}, x: strin}}}}}}"
    text = f"flow: demo\n{source}\nsinks: {{out: {{input: s, topic: out}}}}\n"
    line, below = str(refusal(text)).split("\n")[-2:]

    caret = below.index("^")

    assert "strin" == line[caret : caret + 5]


def test_a_file_that_is_not_there_is_the_callers_concern(tmp_path: Path):
    """`load_graph` invents no message of its own for what the system says well."""
    with pytest.raises(FileNotFoundError):
        load_graph(tmp_path / "absent.yaml")


def test_problems_without_a_place_are_rendered_by_path():
    """A flow built in Python has no lines."""
    problems = refusal("flow: demo\n").problems
    placeless = [type(problem)(problem.path, problem.message) for problem in problems[:1]]

    assert "flow demo: the flow needs the key 'sources'" == render(placeless, filename="flow demo")
