"""Commands that take a flow's name: one that nobody knows is told, and there may be more of a flow than fits."""

import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from services.cli.main import app
from services.registry.errors import RegistryError
from services.registry.view import RegistryView
from topics.messages import FlowRevision

SHOP = FlowRevision(flow="shop", revision=1, state="submitted", text="...", delivery="at_least_once", changed_ms=0)


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with a flow of the name `shop`."""
    view = RegistryView()
    view.take(SHOP)
    monkeypatch.setenv("STIGMERGY_HOME", str(tmp_path))
    monkeypatch.setattr("services.cli.top.read_registry", lambda _: view)
    monkeypatch.setattr("services.cli.dead_letters.read_registry", lambda _: view)


@pytest.mark.parametrize("flags", [[], ["--once"], ["--json"]])
def test_top_of_a_flow_that_there_is_not_says_so(monkeypatch: pytest.MonkeyPatch, flags: list[str]) -> None:
    """It showed an empty screen, as of a flow that rests."""
    for name in ("watch", "measure"):
        monkeypatch.setattr(f"services.cli.top.{name}", _never)
    ended = CliRunner().invoke(app, ["top", "shpo", "--bootstrap", "127.0.0.1:1", *flags])
    assert isinstance(ended.exception, RegistryError), ended
    assert "did you mean shop?" in ended.exception.remedy


class Unreadable:
    """A letter, as far as a list shows it; in `alive` while somebody holds it."""

    alive: ClassVar["weakref.WeakSet[Unreadable]"] = weakref.WeakSet()
    letter = None
    unreadable = "garbage"

    def __init__(self, number: int) -> None:
        self.number = number
        self.alive.add(self)


def test_a_list_of_dead_letters_holds_no_more_than_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow may have millions of them, each with its record."""
    held: list[int] = []

    def letters(*_: Any) -> Iterator[Unreadable]:
        for number in range(200):
            yield Unreadable(number)
            held.append(len(Unreadable.alive))

    monkeypatch.setattr("services.cli.dead_letters.read_letters", letters)
    arguments = ["dead-letters", "list", "shop", "--limit", "3", "--bootstrap", "127.0.0.1:1"]
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)
    assert (200, [197, 198, 199]) == (told["count"], [each["number"] for each in told["letters"]])
    assert max(held) <= 5
    assert "197 older ones are not shown" in CliRunner().invoke(app, arguments).output


def _never(*_: Any, **__: Any) -> None:
    raise AssertionError("it looks")
