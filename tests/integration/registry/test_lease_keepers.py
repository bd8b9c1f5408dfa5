"""Keepers of leases on the real broker: one holder at a time, also when one of them freezes."""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from services.registry.lease_keeper import LeaseKeeper, LeaseParams
from tests.waiting import PATIENCE_S, until
from topics import catalogue
from topics.admin import connect, ensure

PARAMS = LeaseParams(duration_ms=12_000, renew_every_ms=500, margin_ms=200)
"""Longer than a busy machine stalls: who loses a lease shall lose it because the test wants it so."""
FROZEN_S = 14.0


class Holder:
    """A keeper in a thread and event loop of its own, so that one can be frozen while the other goes on."""

    def __init__(self, bootstrap: str, name: str, lease: str) -> None:
        self.lease = lease
        self.changes: list[int | None] = []
        self.ready = threading.Event()
        self._bootstrap, self._name = bootstrap, name
        self.thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.thread.start()
        self.ready.wait()

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.keeper = LeaseKeeper(
            self._bootstrap, self._name, on_change=lambda _, term: self.changes.append(term), params=PARAMS
        )
        self.keeper.want(self.lease)
        self.task = asyncio.create_task(self.keeper.run())
        self.ready.set()
        await asyncio.gather(self.task, return_exceptions=True)

    @property
    def term(self) -> int | None:
        return self.keeper.term(self.lease)

    def frozen(self, for_s: float) -> Future[Any]:
        """Holds up the loop, as SIGSTOP would; what it gives is the term in the first moment after."""
        done: Future[Any] = Future()

        def hold_up() -> None:
            time.sleep(for_s)
            done.set_result(self.term)

        self.loop.call_soon_threadsafe(hold_up)
        return done

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join(timeout=PATIENCE_S)


@pytest.fixture
def holders(kafka: str) -> Iterator[Callable[[str], Holder]]:
    """Starts holders of one lease of the test's own; none outlives it."""
    ensure(connect(kafka), [catalogue.LEASES.declare()])
    lease, started = f"test/{uuid.uuid4().hex[:8]}", []

    @contextmanager
    def all_ended() -> Iterator[None]:
        try:
            yield
        finally:
            for each in started:
                if each.thread.is_alive():
                    each.end()

    def start(name: str) -> Holder:
        started.append(Holder(kafka, name, lease))
        return started[-1]

    with all_ended():
        yield start


def test_of_two_one_holds_it_and_the_other_follows_when_it_ends(holders: Callable[[str], Holder]) -> None:
    """An orderly end releases: the next one need not wait for the expiry."""
    one = holders("one")
    until(lambda: one.term is not None, "one holds the lease")
    term, other = one.term, holders("other")
    until(lambda: other.keeper.newest_term(other.lease) == term, "the other has read of it")
    one.end()
    until(lambda: other.term is not None, "the other holds the lease")
    assert other.term > term
    assert [term, None] == one.changes


def test_whoever_holds_a_lease_knows_the_brokers_time(holders: Callable[[str], Holder]) -> None:
    """From the moment it has it: what it then does is compared with what others stamped."""
    one = holders("one")
    until(lambda: one.term is not None, "one holds the lease")
    assert one.keeper.clock.is_set.is_set()
    assert abs(one.keeper.clock.now_ms() - time.time_ns() / 1e6) < PATIENCE_S * 1e3, "the broker runs on this machine"


def test_a_frozen_holder_knows_that_it_is_dethroned_before_it_does_anything(holders: Callable[[str], Holder]) -> None:
    """Its successor acts from the moment the lease expired; not even the first word after waking may overlap."""
    one = holders("one")
    until(lambda: one.term is not None, "one holds the lease")
    other = holders("other")
    first = one.term
    woken = one.frozen(FROZEN_S)
    until(lambda: other.term is not None, "the other has taken over")
    assert woken.result(timeout=PATIENCE_S) is None
    assert other.term > first
    until(lambda: one.changes[-1] is None, "one has been told")
    until(lambda: one.keeper.newest_term(one.lease) == other.term, "one has read of it, too")
