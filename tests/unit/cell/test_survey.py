"""What a host does every second, whether somebody comes or not."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from placement.ants.surroundings import Digest
from placement.cell_ledger import Booking, State
from placement.queueing import Load
from services.host.cell.body import brain_ms
from services.host.cell.led import Surface
from services.host.cell.service import CellService
from services.host.publisher import Publisher
from services.host.reports import Identity, Reports
from services.process.clock import BrokerClock
from services.registry.view import RegistryView
from tests.unit.cell.ground import plan_for, revision
from tests.unit.cell.test_bookings_and_rows import FLOW, row
from topics.ants.envelope import Travelling


class Survey:
    """The cell of host mid, which has one neighbour; nothing is connected to anything."""

    def __init__(self) -> None:
        identity, clock, publisher = Identity("mid", "boot", 1.0), BrokerClock(), cast("Publisher", None)
        self.view = RegistryView()
        self.reports = Reports(identity, publisher, clock)
        self.service = CellService(
            "nowhere:1",
            identity,
            b"k" * 16,
            view=self.view,
            fresh=self._fresh,
            reports=self.reports,
            publisher=publisher,
            clock=clock,
        )
        self.cell = self.service.body.cell
        self.cell.links_ms["near"] = 1.0
        self.sent: list[Any] = []
        self.service.body._send = self._send

    async def _fresh(self) -> None:
        return

    def _send(self, to: str, each: Travelling) -> None:
        self.sent.append(each.ant)

    async def look(self) -> None:
        """What a second brings to the bookings."""
        self.service._measure_load()
        await self.service._mend_bookings(Surface({"mid": "r", "near": "r"}, {"mid": 1.0, "near": 1.0}, True))

    def told_rho(self) -> list[float]:
        """The load that neighbours were told of."""
        return [each.view.load.rho for each in self.sent if isinstance(each, Digest)]


def play(story: Callable[[Survey], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        survey = Survey()
        await story(survey)
        await survey.service.stop()

    asyncio.run(run())


def test_room_that_was_promised_for_too_long_is_given_up_though_nobody_comes() -> None:
    """A leader died between commitment and activation: a host that looks full is avoided by the very ants that would
    have made it look."""

    async def story(survey: Survey) -> None:
        now_ms = brain_ms()
        for flow, until_ms in (("dead", now_ms - 1.0), ("alive", now_ms + 60_000.0)):
            survey.view.flows[flow] = revision(flow)
            survey.cell.ledger.reserve(Booking(flow, 1, 1, Load(1.0, 0.4), State.RESERVED, until_ms))
            survey.cell.ledger.commit(flow, 1, expires_ms=until_ms)
        await survey.look()
        assert ["alive"] == [booking.flow for booking in survey.cell.ledger.bookings()]
        assert [0.4] == survey.told_rho()
        await survey.look()
        assert 1 == len(survey.told_rho()), "once"

    play(story)


def test_what_runs_again_after_a_start_weighs_what_it_takes() -> None:
    """It is booked at a guess; a busy host would look empty until an ant of that flow came, which may be for hours."""

    async def story(survey: Survey) -> None:
        flow = survey.view.flows["talk"] = revision()
        survey.view.plans["talk"] = plan_for(flow, "mid")
        await survey.look()
        (guess,) = survey.cell.ledger.bookings()
        assert guess.load.rho < 0.1
        survey.reports.rows = [row(1, arrivals=1_000, busy_us=800_000.0)]
        await survey.look()
        await survey.look()
        assert (0.8, 0.8) == (pytest.approx(survey.cell.ledger.load().rho), pytest.approx(survey.told_rho()[-1]))
        assert 2 == len(survey.told_rho()), "the guess, and what it takes"
        assert survey.cell.ledger.background.rho == 0.0, "it counts once"
        survey.cell.flow_changed(FLOW)
        known = survey.cell.ledger.load().rho
        await survey.look()
        assert known == survey.cell.ledger.load().rho < 0.8, "its leader knows more, what is coming say"

    play(story)
