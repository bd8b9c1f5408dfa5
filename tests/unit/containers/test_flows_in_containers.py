"""The flow that the tests in containers compare with the oracle has everything that a flow can have."""

import typing

import pytest

from tests.e2e.flows import EVERYTHING
from topics.flow.file import parse_graph
from topics.flow.specs import Aggregate, OperatorSpec, Python


@pytest.fixture
def operators() -> list[OperatorSpec]:
    topics = {name: f"t.{name}" for name in (*EVERYTHING.sources, *EVERYTHING.sinks)}
    text = EVERYTHING.text(
        "everything", delivery="exactly_once", state="memory", partitions=2, topics=topics, gate="/no/gate"
    )
    return [operator for _, operator in parse_graph(text).spec.operators]


def test_every_kind_of_operator_is_in_it(operators: list[OperatorSpec]) -> None:
    """One that is added to the language must be seen in containers, too."""
    assert set(typing.get_args(OperatorSpec)) == {type(each) for each in operators}
    assert {True, False} == {each.state for each in operators if isinstance(each, Python)}


def test_every_kind_of_window_is_in_it(operators: list[OperatorSpec]) -> None:
    """Running, tumbling, hopping, session."""
    windows = [each.window for each in operators if isinstance(each, Aggregate)]
    kinds = {each and (each.size_ms is not None, each.hop_ms is not None, each.gap_ms is not None) for each in windows}
    assert {None, (True, False, False), (True, True, False), (False, False, True)} == kinds
