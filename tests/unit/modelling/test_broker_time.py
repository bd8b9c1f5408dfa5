"""The broker's time, from the stamps that models got."""

from concurrent.futures import wait

import pytest

from services.modelling.broker_time import ASK_EVERY_MS, BrokerTime
from services.registry.errors import RegistryError

AHEAD_MS = 5_000.0
"""The broker's clock."""


class World:
    """A machine's clock, and a broker with another one."""

    def __init__(self) -> None:
        self.local_ms = 1e6
        self.asked = 0
        self.fault: Exception | None = None
        self.time = BrokerTime(self.newest_ms, local=lambda: self.local_ms)

    def newest_ms(self) -> int | None:
        self.asked += 1
        stamped_ms = round(self.local_ms + AHEAD_MS)
        self.local_ms += 100.0
        if self.fault is not None:
            raise self.fault
        return stamped_ms

    def write(self) -> None:
        """It takes a while, and so does reading back."""
        sent_ms = self.local_ms
        self.local_ms += 100.0
        self.time.wrote(sent_ms)
        assert self.time._asked is not None
        wait([self.time._asked[1]])


def test_the_brokers_time_follows_from_the_stamp_of_what_was_written() -> None:
    """Ours may be another one: then warnings would seem to come seconds late, or before they are told."""
    world = World()
    assert None is world.time.now_ms
    world.write()
    assert AHEAD_MS == pytest.approx((world.time.now_ms or 0.0) - world.local_ms, abs=1.0)
    world.time.close()


def test_it_is_asked_for_now_and_then_also_after_a_fault() -> None:
    world = World()
    world.fault = RegistryError("no broker")
    world.write()
    assert None is world.time.now_ms
    world.fault = None
    world.write()
    assert 1 == world.asked, "models are written every second"
    world.local_ms += ASK_EVERY_MS
    world.write()
    assert 2 == world.asked
    assert None is not world.time.now_ms
    world.time.close()
