"""`stigmergy flow check` and `flow graph`, from the outside."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from services.cli.flow import app

FLOWS = Path(__file__).parents[2] / "flows"
TOP_TALKERS = str(FLOWS / "good" / "top-talkers.yaml")
MANY = str(FLOWS / "bad" / "114-many-at-once.yaml")


def flow(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_check_says_what_the_compiler_made_of_a_right_flow():
    """Re-keys cost a hop, so they are said with their reason."""
    result = flow("check", TOP_TALKERS)

    assert (0, "") == (result.exit_code, result.stderr)
    assert result.stdout.startswith("✓ top-talkers is right: 1 source, 3 operators, 1 sink, 2 segments\n")
    assert "note  traffic -> top: re-keyed into 1 partition, because top ranks all records together" in result.stdout


def test_check_shows_all_problems_and_fails():
    """On standard error, with exit code 1, so that scripts and editors can tell."""
    result = flow("check", MANY)

    assert (1, "") == (result.exit_code, result.stdout)
    assert f"{MANY}:7:44: operators.tcp.where: there is no function lenght" in result.stderr
    assert result.stderr.endswith(f"10 problems in {MANY}\n")


def test_check_as_json_has_every_problem_in_parts():
    """For editors: line, column, key, words."""
    result = flow("check", "--json", MANY)
    found = json.loads(result.stdout)

    assert (1, False, 10) == (result.exit_code, found["ok"], len(found["problems"]))
    assert {
        "line": 9,
        "column": 39,
        "key": "operators.top.k",
        "message": "is 'many'",
        "expected": "a whole number from 1 to 10,000",
        "nearest": None,
    } in found["problems"]


def test_check_as_json_of_a_right_flow():
    """The same object, without problems."""
    found = json.loads(flow("check", "--json", TOP_TALKERS).stdout)

    assert (True, "top-talkers", [], 2) == (found["ok"], found["flow"], found["problems"], len(found["notes"]))


def test_a_key_that_nothing_acts_on_yet_is_said_to_be_so(tmp_path: Path):
    """Who asks for 99 % should not believe that somebody sees to it."""
    note = "qos.availability: kept with the flow, but nothing acts on it yet"
    assert note in flow("check", TOP_TALKERS).stdout
    (tmp_path / "f.yaml").write_text(Path(TOP_TALKERS).read_text().replace(", availability: 0.99", ""))
    assert "availability" not in flow("check", str(tmp_path / "f.yaml")).stdout


def test_graph_draws_the_flow():
    """Every part with its name, and the segments below."""
    result = flow("graph", TOP_TALKERS)

    assert 0 == result.exit_code
    assert (
        "○  traffic  aggregate  bytes = sum(bytes), n = count() by src, dst, window of 20m every 10s\n" in result.stdout
    )
    assert "tcp, traffic  (as many partitions as its topic)\n" in result.stdout


def test_graph_as_json_has_identities_segments_and_types():
    """What other programs need of a compiled flow."""
    found = json.loads(flow("graph", "--json", TOP_TALKERS).stdout)
    traffic = found["operators"][1]

    assert ("traffic", "aggregate", 64) == (traffic["name"], traffic["op"], len(traffic["identity"]))
    assert ["tcp", "traffic"] == found["segments"][0]["operators"]
    assert {"bytes": "float", "n": "int"}.items() <= traffic["outputs"][0]["fields"].items()


def test_graph_as_dot():
    """Ready for `dot -Tsvg`."""
    assert flow("graph", "--dot", TOP_TALKERS).stdout.startswith('digraph "top-talkers" {')


def test_graph_of_a_bad_flow_shows_its_problems():
    """There is nothing to draw."""
    result = flow("graph", MANY)

    assert (1, "") == (result.exit_code, result.stdout)


@pytest.mark.parametrize("arguments", [("graph", "--dot", "--json", TOP_TALKERS), ("check", "absent.yaml"), ("check",)])
def test_wrong_use_is_exit_code_two(arguments: tuple[str, ...]):
    """As for every command."""
    assert 2 == flow(*arguments).exit_code
