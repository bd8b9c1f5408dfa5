"""Leaders that place at the same time: every order in which their ants' visits can interleave is safe."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from placement.ants.effects import Home, Send
from placement.ants.enforcement import Activation, Cancellation, Enforced, EnforcementAnt, Release, Stop
from placement.ants.params import IMPROVED
from placement.cell import Cell
from placement.model import Flow, Sink, Source, Task, chain
from placement.queueing import UTILISATION_CAP, Load

HOSTS = ("x", "y", "z")


def flow(name: str, rate_per_ms: float) -> Flow:
    tasks = tuple(Task(f"t{k}", 4.0) for k in range(len(HOSTS)))
    return chain(name, Source("in", "x", rate_per_ms), tasks, Sink("out", "x"))


Contest = tuple[list[EnforcementAnt], int, set[int], int]


@st.composite
def contests(draw: st.DrawFn) -> Contest:
    """Ants with plans over the same hosts, each in its own order; a schedule; which of them get lost on the way; and
    how many messages are delivered once more, at some later time."""
    ants = []
    for k in range(draw(st.integers(2, 4))):
        order = draw(st.permutations(range(len(HOSTS))))
        stops = tuple(Stop(HOSTS[place], 1 << place, 1e9) for place in order)
        rate = draw(st.sampled_from([0.02, 0.08, 0.11, 0.14]))
        ants.append(EnforcementAnt(flow(f"f{k}", rate), 1, HOSTS[0], stops, trip_ms=50.0))
    lost = draw(st.sets(st.integers(0, len(ants) - 1), max_size=2))
    return ants, draw(st.integers(0, 10_000)), lost, draw(st.integers(0, 4))


def follow_up(home: dict[str, bool], flow: str, news: Any) -> Activation | Cancellation | Release | None:
    """What a leader sends to all hosts: it heeds the first answer of an ant, and a host that lost what it promised."""
    if isinstance(news, Enforced):
        if flow in home:
            return None
        home[flow] = news.committed
        return Activation(flow, 1, HOSTS[0]) if news.committed else Cancellation(flow, 1)
    home[flow] = False
    return Release(flow, 1)


@settings(max_examples=200)
@given(contests())
def test_ants_of_several_leaders_never_overbook_and_never_deadlock(
    contest: Contest,
) -> None:
    """After every single visit no host is promised beyond its cap, and every ant that is not lost comes home.

    A lost ant's reservations expire, so that in the end the hosts hold exactly what was committed. An ant that comes
    twice may spoil its own plan, but then all of it.
    """
    ants, seed, lost, doubles = contest
    rng = Random(seed)
    cells = {
        host: Cell(host, 1.0, {}, IMPROVED, delay=lambda a, b: 0.0, direct=False, background=Load()) for host in HOSTS
    }
    now_ms = 0.0
    waiting: list[tuple[str, Any]] = [(ant.stops[0].host, ant) for ant in ants]
    home: dict[str, bool] = {}
    visits = 0
    while waiting:
        host, message = waiting.pop(rng.randrange(len(waiting)))
        now_ms += rng.choice((1.0, 10.0, 200.0))
        visits += 1
        assert visits < 400, "ants walk without end"
        if isinstance(message, EnforcementAnt) and int(message.flow.name[1:]) in lost and rng.random() < 0.4:
            continue  # the host died under it, or the message was lost
        if doubles and rng.random() < 0.3:
            doubles -= 1
            waiting.append((host, message))
        for effect in cells[host].hear(message, now_ms=now_ms, rng=rng):
            if isinstance(effect, Send):
                if effect.to in cells:
                    waiting.append((effect.to, effect.message))
            elif isinstance(effect, Home):
                follow = follow_up(home, effect.flow, effect.news)
                waiting += [(stop, follow) for stop in HOSTS if follow is not None]
        for cell in cells.values():
            assert UTILISATION_CAP > cell.ledger.load().rho
    assert {ant.flow.name for k, ant in enumerate(ants) if k not in lost} <= set(home)
    for cell in cells.values():
        cell.ledger.expire(now_ms=now_ms + 1e9)
    for name, committed in home.items():
        held = [cell.host for cell in cells.values() if any(b.flow == name for b in cell.ledger.bookings())]
        assert held == (list(HOSTS) if committed else []), "a plan is carried out everywhere or nowhere"
