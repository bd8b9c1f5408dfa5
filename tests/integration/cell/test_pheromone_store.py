"""Redis may go, come back empty, freeze, or be written by somebody else: the cell goes on, and Redis follows it."""

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis

from placement.pheromone import PheromoneParams, VectorState
from services.host.cell.pheromone_journal import DEEDS_MAX
from services.host.cell.pheromone_layout import key_of
from services.host.cell.pheromone_store import PheromoneStore, read_vectors
from tests.waiting import until_async

PARAMS = PheromoneParams()
PATIENCE_S = 60.0


def awaited(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(test(**fixtures))

    return run


def now_ms() -> float:
    return time.monotonic() * 1e3


def store_of(url: str, writer: str = "boot-1") -> PheromoneStore:
    store = PheromoneStore("ant", PARAMS, redis_url=url, writer=writer, now_ms=now_ms)
    for neighbour in ("bee", "cat"):
        store.table.meet(neighbour)
    return store


@asynccontextmanager
async def running(store: PheromoneStore) -> AsyncIterator[PheromoneStore]:
    task = asyncio.create_task(store.run())
    try:
        yield store
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()


def learn(store: PheromoneStore, destination: str = "x", *, count: int = 1) -> None:
    for _ in range(count):
        store.table.vector(destination, now_ms=now_ms()).reinforce("bee", 10.0, now_ms=now_ms())


async def probabilities(url: str) -> dict[str, tuple[float, ...]]:
    async with Redis.from_url(url) as redis:
        kept = await read_vectors(redis, "ant", PARAMS, now_ms=now_ms())
    return {vector.destination: vector.state.probabilities for vector in kept}


def own(store: PheromoneStore, destination: str = "x") -> VectorState:
    state = store.table.state(destination)
    assert state is not None
    return state


async def until_equal(store: PheromoneStore, url: str) -> None:
    wanted = {each: pytest.approx(own(store, each).probabilities) for each in store.table.destinations()}
    deadline_s = time.monotonic() + PATIENCE_S
    while wanted != (found := await probabilities(url)):
        assert time.monotonic() < deadline_s, (wanted, found, store.health)
        await asyncio.sleep(0.02)


@awaited
async def test_redis_follows_the_cell(own_redis) -> None:
    """New vectors and each deed on them arrive by themselves."""
    async with running(store_of(own_redis.url)) as store:
        learn(store, "x", count=3)
        learn(store, "y")
        await until_equal(store, own_redis.url)
        learn(store, "x", count=3)
        await until_equal(store, own_redis.url)
        assert 0 == store.health.made_whole


@awaited
async def test_a_cell_goes_on_without_redis_and_redis_heals(own_redis) -> None:
    """Killed, with all it had: no deed waits for it, little is kept for it, and it gets every vector back."""
    async with running(store_of(own_redis.url)) as store:
        learn(store, "x")
        learn(store, "quiet")
        await until_equal(store, own_redis.url)

        own_redis.kill()
        learn(store, "x", count=20 * DEEDS_MAX)  # in this very turn of the loop: there is nothing it could wait for
        await until_async(lambda: not store.health.connected, "the loss is noticed")
        assert sum(len(notes.deeds) for notes in store.journal.notes.values()) <= 2 * DEEDS_MAX

        own_redis.start()
        await until_equal(store, own_redis.url)
        assert store.health.connected


@awaited
async def test_a_frozen_redis_holds_up_nobody(own_redis) -> None:
    """A server that takes requests and answers none is as good as gone, and no deed is done twice when it wakes."""
    async with running(store_of(own_redis.url)) as store:
        learn(store)
        await until_equal(store, own_redis.url)
        own_redis.freeze()
        learn(store)
        await until_async(lambda: store.health.failures > 0, "the silence is noticed")
        own_redis.thaw()
        learn(store)
        await until_equal(store, own_redis.url)
        assert 3 == own(store).trips


@awaited
async def test_an_answer_that_got_lost_is_not_done_twice(own_redis) -> None:
    """Deeds are numbered: the same numbers again change nothing."""
    store = store_of(own_redis.url)
    learn(store)
    await store.flush()
    learn(store, count=2)
    notes = store.journal.notes["x"]
    deeds = list(notes.deeds)
    await store.flush()
    notes.deeds, notes.written = deeds, notes.written - len(deeds)  # as if no answer had come
    await store.flush()
    assert {"x": pytest.approx(own(store).probabilities)} == await probabilities(own_redis.url)
    assert 0 == store.health.made_whole
    await store.close()


@awaited
async def test_what_another_wrote_is_replaced_by_the_whole_vector(own_redis) -> None:
    """Two processes under one host's name, or a Redis that lost a key: what lies there is not built upon."""
    first, second = store_of(own_redis.url, "boot-1"), store_of(own_redis.url, "boot-2")
    learn(first)
    await first.flush()
    learn(second, count=5)
    await second.flush()
    learn(first)
    await first.flush()
    assert {"x": pytest.approx(own(first).probabilities)} == await probabilities(own_redis.url)
    assert 1 == first.health.made_whole
    await first.close()
    await second.close()


@awaited
async def test_a_host_that_starts_again_remembers_its_ways(own_redis) -> None:
    """Else each restart would cost the ants' work of an hour. Neighbours that are gone meanwhile are forgotten."""
    before = store_of(own_redis.url)
    learn(before, count=30)
    await before.close()

    after = PheromoneStore("ant", PARAMS, redis_url=own_redis.url, writer="boot-2", now_ms=lambda: 5.0)
    for neighbour in ("bee", "dog"):
        after.table.meet(neighbour)
    assert 1 == await after.restore()

    state = own(after)
    assert (("bee", "dog"), 30) == (state.neighbours, state.trips)
    assert state.probabilities[0] == pytest.approx(0.5, abs=0.05)  # a newcomer starts with an equal share
    assert 5.0 == pytest.approx(state.refreshed_ms, abs=PATIENCE_S * 1e3)
    await after.close()


@awaited
async def test_what_is_no_vector_is_left_out(own_redis) -> None:
    """Anyone may write to Redis; a cell believes only what holds together."""
    store = store_of(own_redis.url)
    learn(store)
    await store.flush()
    async with Redis.from_url(own_redis.url) as redis:
        await redis.hset(key_of("ant", "y"), mapping={"p/bee": "2.5", "q/bee": "1"})
        await redis.hset(key_of("ant", "z"), mapping={"p/bee": "nonsense"})
    assert ["x"] == list(await probabilities(own_redis.url))
    await store.close()


@awaited
async def test_a_vector_that_nobody_refreshes_expires(own_redis) -> None:
    """As in the brain: the time runs from the last refresh, and weakening a path does not prolong it."""
    params = PheromoneParams(expires_after_ms=60_000.0)
    clock = [0.0]
    store = PheromoneStore("ant", params, redis_url=own_redis.url, writer="boot-1", now_ms=lambda: clock[0])
    store.table.meet("bee")
    store.table.meet("cat")
    store.table.vector("x", now_ms=0.0).reinforce("bee", 10.0, now_ms=0.0)
    await store.flush()
    clock[0] = 20_000.0
    store.table.vector("x", now_ms=clock[0]).weaken("bee")
    await store.flush()
    async with Redis.from_url(own_redis.url) as redis:
        left_ms = await redis.pttl(key_of("ant", "x"))
    assert 30_000 < left_ms <= 40_000
    await store.close()
