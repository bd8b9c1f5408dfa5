"""Keeping leases: one process claims those that it wants, renews those that it has, and notices when it loses one.

A holder trusts its own clock only against itself: a lease is held while less than its duration has passed since a
renewal that the log confirmed was *sent*. A process that was stopped and wakes sees at once that this time is over.
What it had already sent then must be refused elsewhere: by a fenced transaction, or by the term that it carries.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from services.process.clock import BrokerClock
from services.process.ending import end
from services.registry.lease import LeaseLog
from topics.catalogue import LEASES
from topics.errors import MessageError
from topics.messages import LeaseAct, LeaseEntry

log = structlog.get_logger(__name__)

SEQUENCE = "n"
"""The header by which a keeper knows its own entries again."""
RETRY_S = 0.2
FETCH_WAIT_MS = 2_000
"""So long a fetch waits at the broker where nobody claims or renews anything."""
PARTITION = TopicPartition(LEASES.name, 0)

OnChange = Callable[[str, int | None], None]
"""Called with a lease and its term when it is won, and with None when it is lost or given up."""


def _running_ms() -> float:
    """By a clock that nobody sets."""
    return time.monotonic() * 1e3


@dataclass(frozen=True, slots=True)
class LeaseParams:
    """How long a lease lasts without renewal, how often it is renewed, and how much earlier its holder lets go."""

    duration_ms: int = 4_000
    renew_every_ms: int = 1_000
    margin_ms: int = 500

    def __post_init__(self) -> None:
        assert 0 < self.renew_every_ms < self.duration_ms - self.margin_ms, self


@dataclass(slots=True)
class _Lease:
    """One lease that is wanted. `term` and `until_s` are set while it is held; `asked_s`: when a claim was sent."""

    wanted_from_s: float
    term: int | None = None
    until_s: float = 0.0
    renewed_s: float = 0.0
    asked_s: float | None = None


class LeaseKeeper:
    """`run` in the background; `want` and `drop` leases meanwhile. Leases are released when `run` is cancelled.

    `clock` is the broker's time, told by the append times of our own entries: whoever has a lease knows the time, too.
    """

    def __init__(self, bootstrap: str, holder: str, *, on_change: OnChange, params: LeaseParams | None = None) -> None:
        self.holder = holder
        self.clock = BrokerClock(local=_running_ms)
        self._bootstrap = bootstrap
        self._on_change = on_change
        self._params = params or LeaseParams()
        self._leases: dict[str, _Lease] = {}
        self._log = LeaseLog(is_whole=True)
        self._heard: tuple[int, float] | None = None
        self._sent: dict[int, float] = {}
        self._sequence = 0
        self._changed = asyncio.Event()

    def want(self, lease: str, *, after_s: float = 0.0) -> None:
        """Try to get it from now on; with `after_s` only if it is still to be had then, so that others come first."""
        if lease not in self._leases:
            self._leases[lease] = _Lease(wanted_from_s=time.monotonic() + after_s)
            self._changed.set()

    async def drop(self, lease: str) -> None:
        """Want it no longer; if it is held, it is released at once."""
        kept = self._leases.pop(lease, None)
        if kept is not None and kept.term is not None:
            self._on_change(lease, None)
            with contextlib.suppress(KafkaError):
                await (await self._send(lease, "release", kept.term))

    def term(self, lease: str) -> int | None:
        """The term under which this process holds the lease at this very moment; None if it does not."""
        kept = self._leases.get(lease)
        return kept.term if kept is not None and kept.term is not None and time.monotonic() < kept.until_s else None

    def newest_term(self, lease: str) -> int | None:
        """The last that anybody held it under, as far as this process has read; None if the log tells of none."""
        holding = self._log.holdings.get(lease)
        return holding.term if holding is not None else None

    async def run(self) -> None:
        """Until cancelled, then release all that is held."""
        while True:
            self._producer = AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                acks="all",
                linger_ms=0,
                request_timeout_ms=2_000,
                retry_backoff_ms=50,
            )
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._bootstrap,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=FETCH_WAIT_MS,
                retry_backoff_ms=50,
                metadata_max_age_ms=5_000,
                request_timeout_ms=10_000,
            )
            try:
                await self._producer.start()
                await consumer.start()
                await self._serve(consumer)
            except KafkaError as error:
                log.warning("leases wait for the cluster", error=repr(error))
                self._let_go()
                await asyncio.sleep(RETRY_S)
            finally:
                await consumer.stop()
                await self._producer.stop()

    async def _serve(self, consumer: AIOKafkaConsumer) -> None:
        begin = (await consumer.beginning_offsets([PARTITION]))[PARTITION]
        finish = (await consumer.end_offsets([PARTITION]))[PARTITION]
        consumer.assign([PARTITION])  # only now: behind a fetch that waits these questions would wait, too
        consumer.seek(PARTITION, begin)
        self._log = LeaseLog(is_whole=begin in (0, finish))
        while await consumer.position(PARTITION) < finish:
            await self._read(consumer)
        tasks = [asyncio.create_task(self._listen(consumer)), asyncio.create_task(self._keep())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for each in done:
                each.result()
        finally:
            await end(tasks)
            for lease in list(self._leases):
                kept = self._leases[lease]
                if kept.term is not None:
                    with contextlib.suppress(KafkaError):
                        await (await self._send(lease, "release", kept.term))
            self._let_go()

    async def _listen(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            await self._read(consumer)

    async def _read(self, consumer: AIOKafkaConsumer) -> None:
        for record in (await consumer.getmany(PARTITION, timeout_ms=500)).get(PARTITION, ()):
            self._heard = record.timestamp, time.monotonic()
            try:
                entry = LEASES.codec.decode(record.value, topic=LEASES.name, partition=0, offset=record.offset)
            except MessageError as error:
                log.warning("ignored in the log of leases", problem=str(error))
                continue
            counts = self._log.apply(entry, offset=record.offset, appended_ms=record.timestamp)
            if entry.holder == self.holder:
                told = (value for name, value in record.headers if name == SEQUENCE and value and value.isdigit())
                sequence = next(map(int, told), -1)
                sent_s = self._sent.pop(sequence, None)
                if sent_s is not None:
                    self.clock.exchanged(sent_ms=sent_s * 1e3, stamped_ms=record.timestamp, answered_ms=_running_ms())
                    self._mine(entry, record.offset, sent_s, counts=counts)
            self._changed.set()

    def _mine(self, entry: LeaseEntry, offset: int, sent_s: float, *, counts: bool) -> None:
        """The log has told of one of our own acts."""
        kept = self._leases.get(entry.lease)
        if kept is None:
            return
        until_s = sent_s + (entry.duration_ms - self._params.margin_ms) / 1_000
        if entry.act == "claim":
            kept.asked_s = None
            if counts and time.monotonic() < until_s:
                kept.term, kept.until_s, kept.renewed_s = offset, until_s, sent_s
                self._on_change(entry.lease, offset)
        elif entry.act == "renew" and entry.term == kept.term:
            kept.until_s = max(kept.until_s, until_s) if counts else 0.0

    async def _keep(self) -> None:
        """Claim, renew, and notice what is lost."""
        while True:
            self._changed.clear()
            now_s = time.monotonic()
            for lease, kept in list(self._leases.items()):
                if kept.term is not None and (now_s >= kept.until_s or self._is_anothers(lease, kept.term)):
                    log.warning("lost a lease", lease=lease, term=kept.term)
                    kept.term = None
                    self._on_change(lease, None)
                if kept.term is not None and now_s >= kept.renewed_s + self._params.renew_every_ms / 1_000:
                    kept.renewed_s = now_s
                    await self._send(lease, "renew", kept.term)
                elif kept.term is None and self._may_claim(lease, kept, now_s):
                    kept.asked_s = now_s
                    await self._send(lease, "claim", None)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._params.margin_ms / 5_000):
                    await self._changed.wait()

    def _may_claim(self, lease: str, kept: _Lease, now_s: float) -> bool:
        is_asked = kept.asked_s is not None and now_s < kept.asked_s + self._params.duration_ms / 1_000
        return not is_asked and now_s >= kept.wanted_from_s and self._is_free(lease)

    async def _send(self, lease: str, act: LeaseAct, term: int | None) -> asyncio.Future[Any]:
        """On its way when this returns; whether it counts, the log tells."""
        entry = LeaseEntry(lease=lease, holder=self.holder, act=act, duration_ms=self._params.duration_ms, term=term)
        self._sequence += 1
        now_s = time.monotonic()
        self._sent = {number: at_s for number, at_s in self._sent.items() if now_s - at_s < 60} | {
            self._sequence: now_s
        }
        value = LEASES.codec.encode(entry, topic=LEASES.name)
        sent: asyncio.Future[Any] = await self._producer.send(
            LEASES.name, value, key=LEASES.key_of(entry), partition=0, headers=[(SEQUENCE, b"%d" % self._sequence)]
        )
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())  # what is not confirmed is not held
        return sent

    def _is_free(self, lease: str) -> bool:
        """As far as we have read, and if the broker's clock has gone on like ours since it was last heard."""
        if self._heard is None:
            return True
        appended_ms, heard_s = self._heard
        return self._log.is_free(lease, at_ms=appended_ms + int((time.monotonic() - heard_s) * 1_000))

    def _is_anothers(self, lease: str, term: int) -> bool:
        holding = self._log.holdings.get(lease)
        return holding is not None and holding.term > term

    def _let_go(self) -> None:
        for lease, kept in self._leases.items():
            kept.asked_s = None
            if kept.term is not None:
                kept.term = None
                self._on_change(lease, None)
