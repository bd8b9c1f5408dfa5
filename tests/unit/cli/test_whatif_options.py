"""What `stigmergy whatif` is asked, in words of the command line."""

from types import SimpleNamespace
from typing import Any

import pytest

from placement.model import Host
from services.cli import whatif
from services.registry.errors import RegistryError
from services.registry.view import RegistryView
from topics.messages import Policy

WORLD: Any = SimpleNamespace(flows={"shop": None})


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("x", Host("x", 1.0)),
        ("x:2", Host("x", 2.0)),
        ("x:.5", Host("x", 0.5)),
        ("x:1.25:eu-north", Host("x", 1.25, region="eu-north")),
    ],
)
def test_a_host_is_named_with_its_capacity_and_region(text: str, host: Host) -> None:
    assert host == whatif._host(text)


@pytest.mark.parametrize("text", ["", ":2", "x:1.2.3", "x:.", "x:", "x:fast", "x:1.2.3:r", "x:" + "9" * 400])
def test_what_names_no_host_is_refused(text: str) -> None:
    """1.2.3 was taken for a number, and ended in a traceback, or for a region."""
    with pytest.raises(RegistryError, match="names no host"):
        whatif._host(text)


@pytest.mark.parametrize("text", ["shop=1.2.3x", "shop=.x", "shop=x", "shop=0x", "shop=2", "other=2x", "shop=-1x"])
def test_what_is_no_factor_is_refused(text: str) -> None:
    with pytest.raises(RegistryError, match="is not FLOW=2x"):
        whatif._sped(WORLD, text)


def test_what_an_answer_does_not_rest_on_is_told() -> None:
    """A region that was misspelt gave an answer like any other, with a guess for its distance."""
    view, now = RegistryView(), SimpleNamespace(hosts=(Host("a", region="r"), Host("b", region="s")))
    view.take(Policy(subject="host", name="b", policy="drained", changed_ms=0))
    view.take(Policy(subject="flow", name="a", policy="freeze", changed_ms=0))
    more = [Host("x", region="r"), Host("y", region="t")]
    drained, guessed = whatif._notes(view, now, (), more)  # type: ignore[arg-type]
    assert "host b is drained: nothing stays or goes there" == drained
    assert "how far y is: no host is in region 't'" in guessed


def test_a_host_can_not_be_added_twice() -> None:
    """It ended in a traceback; one that is lost may come back."""
    now: Any = SimpleNamespace(hosts=(Host("a"),))
    for more in ([Host("a")], [Host("x"), Host("x")]):
        with pytest.raises(RegistryError, match="there is such a host"):
            whatif._notes(RegistryView(), now, (), more)
    assert [] == whatif._notes(RegistryView(), now, ("a",), [Host("a")])
