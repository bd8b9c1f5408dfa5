"""What the stack for users' tests does before there is any container."""

from pathlib import Path

import pytest

from services.testing.cluster import Stigmergy
from services.testing.commands import CommandError, run_command
from services.testing.containers import StartError
from services.testing.flow import own_names
from services.testing.images import Images
from services.testing.waiting import NeverError, until
from topics.flow.file import parse_graph

FLOW = """
flow: shop
sources:
  orders: {topic: shop.orders, key: user}
operators:
  big: {op: filter, input: orders, where: total > 10}
sinks:
  out: {input: big, topic: shop.big}
"""


def test_an_image_is_the_default_unless_its_variable_names_another() -> None:
    """Machines without a registry name stand-ins."""
    assert Images(redis="mine") == Images.from_environment({"STIGMERGY_REDIS_IMAGE": "mine", "STIGMERGY_IMAGE": ""})


def test_a_folder_of_functions_that_hosts_can_not_read_is_told_before_anything_starts(tmp_path: Path) -> None:
    """The engine makes a folder that is not there, as root's own, and the flow's error says nothing of the spelling."""
    with pytest.raises(StartError, match="functoins is no folder"):
        Stigmergy(functions=tmp_path / "functoins")
    (tmp_path / "mine").mkdir(mode=0o700)
    with pytest.raises(StartError, match=r"can't read .*mine\nchmod -R o\+rX"):
        Stigmergy(functions=tmp_path / "mine")


def test_a_flow_under_a_name_of_its_own_is_the_same_flow_on_other_topics() -> None:
    """Two tests that submit one file must not read each other's records."""
    graph = parse_graph(FLOW)
    first, second = own_names(graph), own_names(graph)
    assert 3 == len({each.spec.name for each in (graph, first, second)})
    assert 3 == len({each.spec.sources[0].topic for each in (graph, first, second)})
    assert 3 == len({each.spec.sinks[0].topic for each in (graph, first, second)})
    assert graph.spec.operators == first.spec.operators


def test_a_longest_name_leaves_room_for_the_mark() -> None:
    """A flow's name has 63 characters at most."""
    graph = parse_graph(FLOW.replace("flow: shop", f"flow: {'s' * 63}"))
    assert 63 >= len(own_names(graph).spec.name)


def test_a_command_that_fails_says_what_it_said() -> None:
    """Whoever reads a failed test sees the remedy, not an exit code."""
    with pytest.raises(CommandError, match="No such command") as caught:
        run_command("localhost:1", "sumbit")
    assert 2 == caught.value.code


def test_what_never_comes_is_told() -> None:
    """And what comes is given back."""
    answers = iter([[], [], ["now"]])
    assert ["now"] == until(lambda: next(answers), "it comes")
    with pytest.raises(NeverError, match="in vain until pigs fly"):
        until(lambda: False, "pigs fly", patience_s=0.0)
