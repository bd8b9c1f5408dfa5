"""The script in Redis and the brain in Python are one arithmetic: the same deeds leave the same vector."""

import asyncio
import math
import uuid
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from placement.pheromone import PheromoneParams, Reinforcement, VectorState
from services.host.cell.pheromone_journal import JournaledTable
from services.host.cell.pheromone_layout import read_vector
from services.host.cell.pheromone_store import PheromoneStore

HOPS = ("a", "b", "c", "d", "e")
hops = st.sampled_from(HOPS)
deeds = st.one_of(
    st.tuples(st.just("reinforce"), hops, st.floats(0.0, 1e4)),
    st.tuples(st.just("reinforce"), hops, st.floats(5.0, 15.0)),
    st.tuples(st.just("weaken"), hops, st.just(0.0)),
    st.tuples(st.just("lose"), hops, st.just(0.0)),
    st.tuples(st.just("meet"), hops, st.just(0.0)),
    st.tuples(st.just("wait"), st.just(""), st.floats(0.0, 1e6)),
    st.tuples(st.just("scent"), hops, st.floats(0.0, 50.0)),
    st.tuples(st.just("flush"), st.just(""), st.just(0.0)),
)
params = st.builds(
    PheromoneParams,
    reinforcement=st.sampled_from(Reinforcement),
    strength=st.floats(0.01, 1.0),
    floor_share=st.floats(0.0, 0.5),
    confidence_sigmas=st.floats(0.0, 3.0),
    smoothing=st.floats(0.01, 1.0),
    learn_from_all_trips=st.booleans(),
    best_window_trips=st.integers(2, 9),
    half_life_ms=st.sampled_from([1e3, 1e5, math.inf]),
    failed_path_factor=st.floats(0.1, 1.0),
    rescent_blend=st.floats(0.0, 1.0),
)


def do(table: JournaledTable, deed: tuple[str, str, float], now_ms: float) -> None:
    kind, hop, number = deed
    vector = table.vector("x", now_ms=now_ms)
    if kind == "reinforce":
        vector.reinforce(hop, number, now_ms=now_ms)
    elif kind == "scent":
        vector.scent({hop: number, "a": 1.0, "nobody": 3.0}, now_ms=now_ms)
    elif kind == "weaken":
        vector.weaken(hop)
    else:
        getattr(table, kind)(hop)


async def kept(redis: Redis, host: str) -> VectorState:
    raw = await redis.hgetall(f"stig:pheromone:{host}:x")
    values = {name.decode(): value.decode() for name, value in raw.items()}
    refreshed_ms = float(values["refreshed_ms"])
    return read_vector("x", values, -1, math.inf, refreshed_ms).state


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(params=params, history=st.lists(deeds, max_size=60))
def test_script_and_brain_agree(redis_url: str, params: PheromoneParams, history: list[tuple[str, str, float]]) -> None:
    """Whoever reads pheromone from Redis sees what the ants at the cell see, to nine digits."""
    asyncio.run(agree(redis_url, params, history))


async def agree(redis_url: str, params: PheromoneParams, history: list[tuple[str, str, float]]) -> None:
    now_ms = 1e12
    host = f"host-{uuid.uuid4().hex}"
    store = PheromoneStore(host, params, redis_url=redis_url, writer="boot-1", now_ms=lambda: now_ms)
    for hop in HOPS[:3]:
        store.table.meet(hop)
    store.table.vector("x", now_ms=now_ms)
    async with Redis.from_url(redis_url) as redis:
        for deed in [*history, ("flush", "", 0.0)]:
            if deed[0] == "wait":
                now_ms += deed[2]
            elif deed[0] == "flush":
                await store.flush()
                own, theirs = store.table.state("x"), await kept(redis, host)
                assert own is not None
                assert own.neighbours == theirs.neighbours
                for field, value in asdict(own).items():
                    if field != "neighbours":
                        assert value == pytest.approx(getattr(theirs, field), rel=1e-9, abs=1e-9), field
            else:
                do(store.table, deed, now_ms)
        assert 0 == store.health.made_whole
        assert await redis.pttl(f"stig:pheromone:{host}:x") > 0
        await redis.delete(f"stig:pheromone:{host}:x")
    await store.close()
