"""docs/flows.md is true: its examples compile, and what it shows is what the commands print."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.cli.flow import app
from topics.flow import limits
from topics.flow.builder import Flow
from topics.flow.document import read_document
from topics.flow.durations import format_duration
from topics.flow.file import load_graph, parse_graph
from topics.flow.problems import FlowError, Problems
from topics.flow.read_operators import read_operator

TEXT = (Path(__file__).parents[3] / "docs" / "flows.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, re.DOTALL)
YAML = [body for kind, body in BLOCKS if kind == "yaml"]
TOP_TALKERS = Path(__file__).parents[2] / "flows" / "good" / "top-talkers.yaml"


def operators() -> dict[str, object]:
    found: dict[str, object] = {}
    for block in YAML:
        if not block.startswith(("flow:", "sources:")):
            value = read_document(block.encode(), Problems()).value
            assert isinstance(value, dict), block
            found.update(value)
    return found


def test_the_first_example_is_the_one_of_the_tests():
    """DESIGN section 3, the tests and the reference show one file."""
    assert load_graph(TOP_TALKERS) == parse_graph(YAML[0])


@pytest.mark.parametrize("name", operators())
def test_every_operator_in_the_reference_is_right(name: str):
    """A reader copies from there."""
    problems = Problems()

    assert read_operator(operators()[name], ("operators", name), problems) is not None  # type: ignore[arg-type]
    assert [] == problems.found


def test_the_drawing_is_what_the_command_prints():
    """Also the segments' ids."""
    shown = next(body for kind, body in BLOCKS if body.startswith("$ stigmergy flow check"))
    drawing = shown.split("$ stigmergy flow graph top-talkers.yaml\n")[1]

    assert drawing == CliRunner().invoke(app, ["graph", str(TOP_TALKERS)]).stdout


def test_the_error_is_what_a_user_gets():
    """Made by the slip that it shows."""
    shown = next(body for kind, body in BLOCKS if body.startswith("top-talkers.yaml:6"))

    with pytest.raises(FlowError) as caught:
        parse_graph(YAML[0].replace("input: packets", "input: packts"), filename="top-talkers.yaml")

    assert shown == str(caught.value) + "\n"


def test_the_python_example_builds_the_first_file():
    """Executed as it stands."""
    code = next(body for kind, body in BLOCKS if kind == "python")
    names: dict[str, object] = {}
    exec(code, names)

    assert isinstance(names["flow"], Flow)
    assert load_graph(TOP_TALKERS) == names["graph"]


@pytest.mark.parametrize(
    "said",
    [
        f"at most {limits.FILE_BYTES_MAX:,} bytes and {limits.FILE_DEPTH_MAX} levels deep",
        f"1 to {limits.SOURCES_MAX}, by name",
        f"up to {limits.OPERATORS_MAX}, by name",
        f"have up to {limits.NAME_LENGTH_MAX} lower-case letters",
        f"at most `{format_duration(limits.DURATION_MS_MAX)}`",
        f"at most {limits.LATENCY_MS_MAX:,}",
        f"at most {limits.WEIGHT_MAX:,}",
        f"1 to {limits.PARTITIONS_MAX:,}",
        f"have 1 to {limits.FIELDS_MAX} entries",
        f"The first of 1 to {limits.ROUTES_MAX} routes",
        f"A union has 2 to {limits.UNION_INPUTS_MAX} inputs",
        f"(1 to {limits.BY_FIELDS_MAX} fields)",
        f"may be at most {limits.PANES_MAX:,}",
        f"in at most {limits.CHANGED_WINDOWS_MAX} windows",
        f"how many, 1 to {limits.K_MAX:,}",
        f"up to {limits.SETTINGS_MAX} names with text",
    ],
)
def test_the_limits_are_those_of_the_code(said: str):
    """A number in a document ages."""
    assert said in TEXT
