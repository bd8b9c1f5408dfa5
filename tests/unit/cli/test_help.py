"""Help as a newcomer reads it: nothing is swallowed on the way to the screen, and a slip gets a hint."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from services.cli.main import COMMANDS, app

TAG = re.compile(r"\[[a-z#/@]")
"""How Rich's markup begins: it takes `[default: 5]` for a style, and shows nothing."""


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and subcommand, with the words that call it."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for name in COMMANDS:
        command: Any = group.get_command(context, name)
        yield (name,), command
        yield from (((name, under), each) for under, each in getattr(command, "commands", {}).items())


ALL = dict(commands())


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_help_shows_every_default_that_is_told_in_words(words: tuple[str, ...]) -> None:
    """A flag that may be left out is only of use to who knows what happens then."""
    told = [param.show_default for param in ALL[words].params if isinstance(getattr(param, "show_default", None), str)]
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "240"}).output
    assert [] == [default for default in told if f"[default: ({default})]" not in shown]


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_no_help_text_is_taken_for_markup(words: tuple[str, ...]) -> None:
    """Nineteen notes on defaults were, and nobody saw them."""
    texts = [ALL[words].help or "", *(getattr(param, "help", None) or "" for param in ALL[words].params)]
    assert [] == [text for text in texts if TAG.search(text)]


def test_there_are_defaults_told_in_words() -> None:
    """Else the tests above show nothing."""
    shown = CliRunner().invoke(app, ["host", "--help"], env={"COLUMNS": "240"}).output
    assert "Relative speed. [default: (measured)]" in re.sub(r"\s+", " ", shown)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        (["submt"], "'submit'"),
        (["flow", "chek"], "'check'"),
        (["models", "lst"], "'list'"),
        (["bench", "cluser"], "'cluster'"),
        (["simulate", "lief"], "'life'"),
        (["dead-letters", "replya"], "'replay'"),
    ],
    ids=lambda each: each[-1] if isinstance(each, list) else "",
)
def test_a_mistyped_command_gets_the_nearest_one(slip: list[str], meant: str) -> None:
    """As a mistyped key of a flow file and a mistyped variable do."""
    result = CliRunner().invoke(app, slip)
    assert 2 == result.exit_code
    assert f"No such command {slip[-1]!r}. Did you mean {meant}" in result.output


def test_a_word_like_no_command_gets_none() -> None:
    """A guess would be noise."""
    result = CliRunner().invoke(app, ["xyzzy"])
    assert "No such command 'xyzzy'." in result.output
    assert "Did you mean" not in result.output
