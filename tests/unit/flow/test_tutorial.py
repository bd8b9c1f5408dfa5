"""docs/tutorial.md is true: its flow is the file beside it, and what it shows is what the commands print."""

import re
from pathlib import Path

from typer.testing import CliRunner

from services.cli.main import app
from topics.flow.file import load_graph, parse_graph

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "tutorial.md").read_text()
FLOW = DOCS / "tutorial" / "busy-shops.yaml"


def test_the_flow_on_the_page_is_the_file_beside_it() -> None:
    """A reader may type it or take it."""
    (shown,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert load_graph(FLOW) == parse_graph(shown)
    assert load_graph(FLOW).segments[0].id in TEXT


def test_the_page_shows_what_trying_the_flow_prints() -> None:
    """The first thing that a newcomer does must look as it was promised."""
    got = CliRunner().invoke(app, ["flow", "run", str(FLOW), "--input", str(DOCS / "tutorial" / "records.jsonl")])
    first, *_ = got.stdout.splitlines()
    assert first in TEXT
    assert "5 read, 3 to out, 0 late, 0 undecodable, 0 dead" in TEXT
    assert "5 read, 3 to out, 0 late, 0 undecodable, 0 dead" in got.output


def test_every_command_on_the_page_is_one() -> None:
    """A command that was renamed is renamed there too."""
    known = set(re.findall(r"^. (\S+) ", CliRunner().invoke(app, ["--help"]).stdout, re.MULTILINE))
    assert set(re.findall(r"\$ stigmergy (\S+)", TEXT)) <= known
