"""Pheromone in Redis, following what a cell has in memory.

The cell works on its own vectors and never waits for Redis. What it did to them is noted (`pheromone_journal`) and
written behind by `run`, each vector's deeds in one atomic script that does the same arithmetic. Deeds are numbered, so
that a script whose answer got lost is not done twice, and a vector that Redis lost, or that somebody else wrote, is
written whole. Redis is advisory: while it is gone the cell goes on, and when it returns it gets all vectors anew.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from placement.pheromone import PheromoneParams
from services.host.cell.pheromone_journal import Deed, Journal, JournaledTable
from services.host.cell.pheromone_layout import (
    SCRIPT,
    KeptVector,
    key_of,
    packed_params,
    pattern_of,
    read_vector,
    whole,
)

log = structlog.get_logger()

FLUSH_EVERY_S = 0.2
VECTORS_PER_TRIP = 64
ANSWER_TIMEOUT_S = 1.0
RETRY_S_FIRST, RETRY_S_MAX = 0.2, 5.0
VECTORS_MAX = 10_000
"""More than this are not read back: no cell has as many destinations."""


@dataclass(slots=True)
class StoreHealth:
    """How the store fares; `waiting` vectors are not in Redis as they are in memory."""

    connected: bool = False
    waiting: int = 0
    trips: int = 0
    failures: int = 0
    made_whole: int = 0


class PheromoneStore:
    """`table` is the cell's pheromone; `restore` it once, then `run` until cancelled, then `close`.

    `writer` is new at every start of a host (its boot id): a successor never builds on what it did not write itself.
    """

    def __init__(
        self,
        host: str,
        params: PheromoneParams,
        *,
        redis_url: str,
        writer: str,
        now_ms: Callable[[], float],
    ) -> None:
        self.journal = Journal()
        self.table = JournaledTable((), params, self.journal)
        self.health = StoreHealth()
        self._host = host
        self._params = params
        self._packed = packed_params(params)
        self._writer = writer
        self._now_ms = now_ms
        self._redis = Redis.from_url(
            redis_url,
            socket_timeout=ANSWER_TIMEOUT_S,
            socket_connect_timeout=ANSWER_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),  # `run` tries again by itself
        )
        self._sha = ""

    async def restore(self) -> int:
        """Takes back what Redis still has of this cell's vectors; how many there were, 0 if Redis is gone.

        Call it once the table has met the cell's neighbours: a way to a host that is none is of no use.
        """
        try:
            async with asyncio.timeout(2 * ANSWER_TIMEOUT_S):
                kept = await read_vectors(self._redis, self._host, self._params, now_ms=self._now_ms())
        except (RedisError, OSError, TimeoutError) as fault:
            log.warning("no pheromone read back; the cell starts without", error=repr(fault))
            return 0
        known = set(self.table.destinations())  # what the ants of now have taught counts more
        for vector in kept:
            if vector.destination not in known:
                self.table.restore(vector.destination, vector.state, now_ms=self._now_ms())
        return len(kept)

    async def run(self) -> None:
        """Writes behind, until cancelled. A fault is waited out; what is due meanwhile stays bounded."""
        retry_s = RETRY_S_FIRST
        while True:
            await self.journal.news.wait()
            try:
                await self.flush()
                retry_s = RETRY_S_FIRST
                await asyncio.sleep(FLUSH_EVERY_S)
            except (RedisError, OSError, TimeoutError) as fault:
                self._lost(fault)
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, RETRY_S_MAX)

    async def flush(self) -> None:
        """Writes all that is due. Raises what Redis raises; then what was not written is still due."""
        if not self.health.connected:
            self._sha = str(await self._redis.script_load(SCRIPT))
            self._found()
        while due := self.journal.due()[:VECTORS_PER_TRIP]:
            await self._write(due)
        self.journal.news.clear()
        self.health.waiting = 0

    async def close(self) -> None:
        """Writes what is left if Redis is there, and lets go of it."""
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self.flush()
        await self._redis.aclose()

    async def _write(self, due: list[str]) -> None:
        """One trip to Redis: a script for each vector."""
        batches: dict[str, list[Deed]] = {}
        async with self._redis.pipeline(transaction=False) as pipeline:
            for destination in due:
                deeds = self._deeds(destination)
                if deeds:
                    batches[destination] = deeds
                    self._ask(pipeline, destination, deeds)
            try:
                answers = await pipeline.execute(raise_on_error=False)
            except BaseException:
                for destination, deeds in batches.items():
                    self._undo(destination, deeds)
                raise
        self.health.trips += 1
        faults = [answer for answer in answers if isinstance(answer, Exception)]
        for (destination, deeds), answer in zip(batches.items(), answers, strict=True):
            self._answered(destination, deeds, answer)
        if faults:
            self.health.connected &= not any(isinstance(fault, NoScriptError) for fault in faults)
            raise faults[0]

    def _deeds(self, destination: str) -> list[Deed]:
        """Takes what is due of a vector."""
        notes = self.journal.notes[destination]
        if not notes.whole:
            deeds, notes.deeds = notes.deeds, []
            return deeds
        state = self.table.state(destination)
        if state is None:  # it expired here, and will expire there
            del self.journal.notes[destination]
            return []
        notes.whole = False
        return [whole(state)]

    def _ask(self, pipeline: Pipeline, destination: str, deeds: list[Deed]) -> None:
        notes = self.journal.notes[destination]
        pipeline.evalsha(
            self._sha,
            1,
            key_of(self._host, destination),
            self._packed,
            self._writer,
            notes.written,
            msgspec.msgpack.encode(deeds),
            repr(self._now_ms()),
        )

    def _answered(self, destination: str, deeds: list[Deed], answer: object) -> None:
        notes = self.journal.notes[destination]
        if answer == 1:
            notes.written += len(deeds)
        elif answer == 0:  # Redis lost it, or another process wrote it
            self.health.made_whole += 1
            self.journal.whole(destination)
        else:
            self._undo(destination, deeds)

    def _undo(self, destination: str, deeds: list[Deed]) -> None:
        """Nobody knows whether these were done: they are due again, with the same numbers."""
        notes = self.journal.notes[destination]
        if deeds[0][0] == "whole" or notes.whole:
            self.journal.whole(destination)
        else:
            notes.deeds[:0] = deeds

    def _found(self) -> None:
        if self.health.failures:
            log.info("Redis is back: pheromone is written again")
            for destination in self.table.destinations():
                self.journal.whole(destination)
        self.health.connected = True

    def _lost(self, fault: Exception) -> None:
        if self.health.connected or not self.health.failures:
            log.warning("no Redis: the cell goes on with the pheromone it has", error=repr(fault))
        self.health.connected = False
        self.health.failures += 1
        self.health.waiting = len(self.journal.due())


async def read_vectors(redis: "Redis", host: str, params: PheromoneParams, *, now_ms: float) -> list[KeptVector]:
    """All vectors that Redis has of a cell, by destination; what is no vector is left out."""
    keys = []
    async for key in redis.scan_iter(match=pattern_of(host), count=1_000):
        keys.append(key.decode(errors="replace"))
        if len(keys) == VECTORS_MAX:
            break
    kept = []
    for key in sorted(keys):
        async with redis.pipeline(transaction=True) as pipeline:
            pipeline.hgetall(key)
            pipeline.pttl(key)
            raw, left_ms = await pipeline.execute()
        values = {name.decode(errors="replace"): value.decode(errors="replace") for name, value in raw.items()}
        try:
            kept.append(read_vector(key, values, left_ms, params.expires_after_ms, now_ms))
        except ValueError as fault:
            log.warning("left out what is no pheromone vector", error=str(fault))
    return kept
