"""The demo's packets: few at first, more later, none twice."""

from services.demo.furnish import LATER_PER_S, PER_S, RISES_AFTER_S, demo_world
from services.demo.main import Rates


def test_the_rate_rises_after_a_while() -> None:
    """The number that is due never jumps: only its slope does."""
    rates = Rates(100.0, 4_000.0, 50.0)
    assert [0, 1_000, 5_000, 9_000] == [rates.due(elapsed_s) for elapsed_s in (0.0, 10.0, 50.0, 51.0)]
    assert (100.0, 4_000.0) == (rates.now_per_s(49.9), rates.now_per_s(50.0))


def test_the_demo_has_a_small_host_near_its_packets_and_larger_ones_farther_away() -> None:
    """Else there would be no reason to move."""
    world = demo_world()
    edge, core = world.hosts["edge-1"], world.hosts["core-1"]
    assert edge[0].capacity is not None
    assert core[0].capacity is None
    assert world.round_trip_ms(edge[1], core[1]) > 0
    assert ("edge",) == world.brokers
    assert PER_S < LATER_PER_S
    assert RISES_AFTER_S < 120
