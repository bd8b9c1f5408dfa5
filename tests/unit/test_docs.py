"""What the pages list is complete, and what they show can be pasted."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from services.cli.main import COMMANDS, app
from services.host.exposition import exposition
from services.host.totals import OperatorTotals, TaskTotals, Totals
from tests.unit.decisions_index import PAGE, index

ROOT = Path(__file__).parents[2]
OPERATING = (ROOT / "docs" / "operating.md").read_text()
README = (ROOT / "README.md").read_text()


def test_the_index_of_decisions_is_complete() -> None:
    """Nobody finds a record among a hundred and fifty files by its name."""
    assert PAGE.read_text().endswith(index()), "write it anew: .venv/bin/python -m tests.unit.decisions_index"


def metric_names() -> Iterator[str]:
    """All that /metrics of any process may show, from the code."""
    for file in sorted((ROOT / "services").rglob("*.py")):
        text = file.read_text()
        yield from re.findall(r"# TYPE (stigmergy_\w+)", text)
        for call in ast.walk(ast.parse(text)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "metric":
                name = call.args[0]
                if isinstance(name, ast.Constant):
                    yield f"stigmergy_{name.value}"
                else:
                    assert file.name == "exposition.py", f"{file}: a name that is put together; yield it below"
    totals = Totals()
    totals.operators["f", "o", 0], totals.tasks["f.1", 0] = OperatorTotals(), TaskTotals()
    reports: Any = SimpleNamespace(host_row=None, standings={}, totals=totals, state_bytes=dict)
    yield from re.findall(r"# TYPE (stigmergy_\w+)", exposition(reports, garbage=0))


def test_every_metric_is_in_the_reference_and_nothing_else() -> None:
    """An alert is written from that page."""
    section = OPERATING.partition("## Metrics and health")[2]
    described = re.findall(r"^\| `(stigmergy_\w+)` \| (?:gauge|counter) \| [^|]+ \| [^|]+ \|$", section, re.MULTILINE)
    assert sorted(set(metric_names())) == sorted(described)


def pasted(page: str) -> Iterator[list[str]]:
    for line in re.findall(r"^\$ (?:\.venv/bin/)?stigmergy (.+)$", page, re.MULTILINE):
        yield line.partition("#")[0].split()


@pytest.mark.parametrize("words", [*pasted(README)], ids=" ".join)
def test_files_that_the_readme_names_are_there(words: list[str]) -> None:
    """The first thing that a newcomer pastes must work."""
    assert words[0] in COMMANDS
    assert [] == [word for word in words if word.endswith((".yaml", ".jsonl")) and not (ROOT / word).exists()]


@pytest.mark.parametrize("words", [words for words in pasted(README) if words[0] == "flow"], ids=" ".join)
def test_what_the_readme_tries_without_a_broker_works(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands there."""
    monkeypatch.chdir(ROOT)
    assert 0 == CliRunner().invoke(app, words).exit_code


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_readme_names_every_page(page: Path) -> None:
    """A page without a link is not there."""
    assert f"docs/{page.name}" in README


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.name)
def test_anchors_that_pages_link_to_are_there(page: Path) -> None:
    """A link to a section that was renamed leads to the top of the page."""
    missing = []
    for target, anchor in re.findall(r"\]\(([\w/.-]*)#([\w-]+)\)", page.read_text()):
        linked = (page.parent / target) if target else page
        text = linked.read_text()
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        anchors |= set(re.findall(r'<a id="([^"]+)">', text))
        missing += [f"{target}#{anchor}"] if anchor not in anchors else []
    assert [] == missing
