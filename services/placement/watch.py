"""Which hosts live: those that have reported lately, by this process's own clock.

It reads the reports as they come; what is no report of a host is counted, told and skipped. A host counts as silent
from when this process last heard of it; one that it has never heard of, from when the watch began. Who hears nobody at
all is cut off itself, and judges nobody; a watch that was cut off or stopped first listens again before it judges. But
a host gets its time anew only once until it is heard: else one that reports too seldom would keep the dead alive.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from topics.catalogue import METRICS_HOSTS
from topics.errors import MessageError

log = structlog.get_logger(__name__)

PARTITION = TopicPartition(METRICS_HOSTS.name, 0)
POLL_S = 0.5
RETRY_S = 0.2
DEAF_S = 2.0
"""Hosts report once a second. Who has heard none of them for so long was stopped, or has no way to the broker."""


class Watch:
    """`run` in the background; `live` and `lost` tell what was heard. `garbage` counts what was no report."""

    def __init__(self, bootstrap: str, *, silent_s_max: float) -> None:
        self.garbage = 0
        self._bootstrap = bootstrap
        self._silent_s_max = silent_s_max
        self._heard_s: dict[str, float] = {}
        self._since_s = time.monotonic()
        self._last_s = self._since_s
        """When anybody was heard last."""
        self._anew_s: dict[str, float] = {}
        """When a host got its time anew."""

    def live(self) -> frozenset[str]:
        """The hosts that have reported lately."""
        now_s = time.monotonic()
        return frozenset(host for host, at_s in self._heard_s.items() if now_s - at_s < self._silent_s_max)

    def lost(self, hosts: Iterable[str], *, now_ms: int) -> dict[str, int]:
        """Of these hosts, those that are silent for too long, and since when that is known."""
        now_s = time.monotonic()
        if now_s - self._last_s > DEAF_S:
            return {}
        silent_s = {host: now_s - self._silent_since_s(host) for host in hosts}
        return {
            host: now_ms - int((each_s - self._silent_s_max) * 1_000)
            for host, each_s in silent_s.items()
            if each_s >= self._silent_s_max
        }

    def _silent_since_s(self, host: str) -> float:
        return max(self._heard_s.get(host, 0.0), self._anew_s.get(host, 0.0), self._since_s)

    async def run(self) -> None:
        """Listens until cancelled."""
        while True:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._bootstrap,
                enable_auto_commit=False,
                auto_offset_reset="latest",
                retry_backoff_ms=50,
                metadata_max_age_ms=5_000,
                request_timeout_ms=10_000,
            )
            try:
                await consumer.start()
                consumer.assign([PARTITION])
                await consumer.seek_to_end(PARTITION)
                self._since_s = time.monotonic()
                while True:
                    await self._listen(consumer)
            except KafkaError as error:
                log.warning("hosts can't be heard; trying again", error=repr(error))
                await asyncio.sleep(RETRY_S)
            finally:
                await consumer.stop()

    async def _listen(self, consumer: AIOKafkaConsumer) -> None:
        fetched = await consumer.getmany(PARTITION, timeout_ms=int(POLL_S * 1_000))
        for records in fetched.values():
            self.read(records)

    def read(self, records: Iterable[Any]) -> None:
        """These records have come; anybody may have written them."""
        if hosts := list(self._senders(records)):
            self.heard(hosts)

    def _senders(self, records: Iterable[Any]) -> Iterator[str]:
        for record in records:
            try:
                row = METRICS_HOSTS.codec.decode(
                    record.value, topic=METRICS_HOSTS.name, partition=PARTITION.partition, offset=record.offset
                )
            except MessageError as error:
                self.garbage += 1
                log.warning("ignored among the reports of hosts", problem=str(error))
            else:
                yield row.host

    def heard(self, hosts: Iterable[str]) -> None:
        """These have reported."""
        now_s = time.monotonic()
        deaf_s = now_s - self._last_s
        if deaf_s > self._silent_s_max:  # no living host is so slow
            self._since_s = now_s
        elif deaf_s > DEAF_S:
            unspared = [host for host, at_s in self._heard_s.items() if at_s >= self._anew_s.get(host, 0.0)]
            self._anew_s |= dict.fromkeys(unspared, now_s)
        self._last_s = now_s
        self._heard_s |= dict.fromkeys(hosts, now_s)
