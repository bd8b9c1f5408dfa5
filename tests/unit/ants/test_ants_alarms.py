"""Alarms: whose leaders hear that a host's queue has become longer."""

from dataclasses import replace
from random import Random

from placement.ants.effects import Send
from placement.ants.letters import Letter
from placement.ants.measuring import MeasuringAnt, RunningStop
from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.cell_ledger import Booking, State
from placement.leader_events import Crowded
from placement.model import Flow, Sink, Source, Task, chain
from placement.queueing import load_of


def flow(name: str, rate_per_ms: float = 0.1) -> Flow:
    return chain(name, Source("in", "s", rate_per_ms), (Task("t", 1.0),), Sink("out", "d"))


def host_of(*flows: Flow) -> Cell:
    cell = Cell("h", 1.0, {"s": 1.0}, IMPROVED, delay=lambda a, b: 1.0, direct=True)
    for each in flows:
        load = load_of((stream for _, stream in each.graph.streams(1)), 1.0)
        cell.ledger.reserve(Booking(each.name, 1, 1, load, State.RESERVED, 1e9, home="s"))
        assert cell.ledger.activate(each.name, 1)
    return cell


def alarmed(effects: list[object]) -> list[str]:
    letters = [each.message for each in effects if isinstance(each, Send) and isinstance(each.message, Letter)]
    return sorted(letter.flow for letter in letters if letter.news == Crowded("h"))


def test_a_flow_that_became_heavier_alarms_all_flows_on_its_host() -> None:
    """They need not wait for their next round."""
    cell = host_of(flow("f"), flow("g"))
    assert ["f", "g"] == alarmed([*cell.flow_changed(flow("f", 0.8))])


def test_a_leader_that_asks_is_not_alarmed_by_its_own_question() -> None:
    """It is looking already; an alarm would send the same ants out once more."""
    cell = host_of(flow("f"), flow("g"))
    ant = MeasuringAnt(flow("f"), 1, "s", (RunningStop("h", 1, ()),), social=True)
    heavier = replace(ant, flow=flow("f", 0.8))
    assert ["g"] == alarmed([*cell.hear(heavier, now_ms=0.0, rng=Random(1))])
