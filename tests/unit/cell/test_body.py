"""The live body: it counts what it can't digest, carries lineage on, measures hops, and holds leaders back in a jam."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from random import Random
from typing import Any

from placement.ants.effects import Send, SetTimer
from placement.ants.order import Order
from placement.ants.params import IMPROVED
from placement.ants.routing import RoutingAnt
from placement.ants.scouting import scout
from placement.ants.sizes import ENVELOPE_BYTES, scout_bytes
from placement.ants.trail import Trail
from placement.leader import Leader
from placement.leader_events import TimerFired
from placement.model import Sink, Source, Task, chain
from placement.scent import Announce, Scent
from services.host.cell.body import CellBody, Decided, brain_ms
from topics.ants.envelope import Travelling


class Ground:
    """A body whose sends are kept."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Travelling]] = []
        self.is_lagging = False
        self.body = CellBody(
            "b",
            1.0,
            chance=Random,
            delay=lambda a, b: 1.0,
            send=lambda to, each: self.sent.append((to, each)),
            now_ms=lambda: 5_000.0,
            decided=self._decided,
            is_lagging=lambda: self.is_lagging,
        )

    def _decided(self, leader: Leader, decided: Decided) -> None:
        raise AssertionError(decided)

    def link(self, *names: str) -> None:
        self.body.relink(dict.fromkeys(names, 4.0), lambda before_ms, now_ms: before_ms != now_ms)
        self.sent.clear()


def play(story: Callable[[Ground], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(story(Ground()))


def test_a_message_that_the_brain_cannot_digest_is_dropped_and_counted() -> None:
    """It came with a good seal, from a host with a bug; the operators here must not end for it."""

    async def story(ground: Ground) -> None:
        stray = RoutingAnt("talk", 1, "c", Trail(("x", "y"), (0.0, 1.0), (0.0, 1.0), 1.0, 1), "x", homeward=True)
        ground.body.take([Travelling(stray, 1, 0.0)], "x", hop_ms=1.0, ant_bytes=100.0)
        assert (1, []) == (ground.body.failed, ground.sent)

    play(story)


def test_what_a_message_sets_off_inherits_its_hops_and_its_birth() -> None:
    """So that nothing goes on for ever; what a cell says by itself begins anew."""

    async def story(ground: Ground) -> None:
        ground.link("a", "c")
        ground.body.take([Travelling(Scent("a", 9, "a", 0.0), 6, 1_234.0)], "a", hop_ms=1.0, ant_bytes=100.0)
        ((to, onward),) = ground.sent
        assert ("c", 7, 1_234.0) == (to, onward.hops, onward.born_ms)
        ground.sent.clear()
        ground.body.set_off([Send("c", Announce("c"))])
        assert [("c", Travelling(Announce("c"), 1, 5_000.0))] == ground.sent

    play(story)


def test_a_forward_ants_trail_takes_the_measured_hop() -> None:
    """Trip times are what ants really took."""

    async def story(ground: Ground) -> None:
        ground.link("a", "c")
        ground.body.take([Travelling(Scent("c", 9, "c", 0.0), 0, 0.0)], "c", hop_ms=1.0, ant_bytes=100.0)
        ground.sent.clear()
        trail = Trail(("a", "b"), (0.0, 4.0), (0.0, 4.0), 4.0, 1)
        ground.body.take([Travelling(RoutingAnt("talk", 1, "c", trail, "a"), 1, 0.0)], "a", hop_ms=9.0, ant_bytes=100.0)
        ((to, onward),) = ground.sent
        assert ("c", (0.0, 9.0, 13.0)) == (to, onward.ant.trail.elapsed_ms)

    play(story)


def test_a_scout_pays_for_what_it_weighs() -> None:
    """By an estimate the budget would be charged with a tenth of what is sent."""

    async def story(ground: Ground) -> None:
        ground.link("a", "c")
        for end in ("a", "c"):
            ground.body.take([Travelling(Scent(end, 9, end, 0.0), 0, 0.0)], end, hop_ms=1.0, ant_bytes=100.0)
        ground.sent.clear()
        flow = chain("talk", Source("in", "a", 0.1), (Task("t", 1.0),), Sink("out", "c"))
        ends = {"start": "a", "end": "c", "shares": (1.0, 1.0), "anchors": ((),)}
        ant = scout(Order(flow, 1, 0, (0,), **ends), "a", IMPROVED.scouting, rng=Random(1))
        trail = Trail(("a", "b"), (0.0, 4.0), (0.0, 4.0), 4.0, 1)
        ant = replace(ant, trail=trail, byte_hops=float(ENVELOPE_BYTES + scout_bytes(replace(ant, trail=trail))))
        ground.body.take([Travelling(ant, 1, 0.0)], "a", hop_ms=4.0, ant_bytes=5_000.0)
        ((_, onward),) = ground.sent
        assert 5_000.0 + ENVELOPE_BYTES + scout_bytes(onward.ant) == onward.ant.byte_hops

    play(story)


def test_a_rest_ends_only_when_the_control_topics_have_caught_up() -> None:
    """New ants would make a jam longer; other timers must still fire."""

    async def story(ground: Ground) -> None:
        told: list[tuple[str, Any]] = []
        ground.body.tell_leader = lambda flow, event: told.append((flow, event))  # type: ignore[method-assign]
        ground.is_lagging = True
        for name in ("rest", "patience"):
            ground.body.set_off([SetTimer("talk", name, brain_ms() - 1.0)])
        async with asyncio.timeout(60):
            while not told:
                await asyncio.sleep(0.001)
        assert [("talk", TimerFired("patience"))] == told
        ground.is_lagging = False
        async with asyncio.timeout(60):
            while len(told) < 2:
                await asyncio.sleep(0.01)
        assert ("talk", TimerFired("rest")) == told[1]

    play(story)
