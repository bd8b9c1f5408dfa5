"""Which hosts live: those that have reported lately, by this process's own clock.

It reads the reports as they come; what is no report of a host is counted, told and skipped. A host counts as silent
from when this process last heard of it; one that it has never heard of, from when the watch began. Who hears nobody at
all is cut off itself, and judges nobody; a watch that was cut off or stopped first listens again before it judges. But
a host gets its time anew only once until it is heard: else one that reports too seldom would keep the dead alive.

When nobody was heard for so long that it may be the hosts that were gone, they come back one after the other (decision
360). Until half of the owners are back, or have had the time to be, who has not been heard since is not judged: else
the first to boot after a power cut would get what all others ran.
"""

import asyncio
import time
from collections.abc import Collection, Iterable, Iterator
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

    def __init__(self, bootstrap: str, *, silent_s_max: float, return_s_max: float) -> None:
        self.garbage = 0
        self._bootstrap = bootstrap
        self._silent_s_max = silent_s_max
        self._return_s_max = return_s_max
        self._heard_s: dict[str, float] = {}
        self._since_s = time.monotonic()
        self._last_s = self._since_s
        """When anybody was heard last."""
        self._back_s: dict[str, float] = {}
        """Who was heard since the watch began, or began anew, and when first."""
        self._anew_s: dict[str, float] = {}
        """When a host got its time anew."""

    def live(self) -> frozenset[str]:
        """The hosts that have reported lately."""
        now_s = time.monotonic()
        return frozenset(host for host, at_s in self._heard_s.items() if now_s - at_s < self._silent_s_max)

    def lost(self, hosts: Iterable[str], *, owners: Collection[str], now_ms: int) -> dict[str, int]:
        """Of these hosts, those that are silent for too long, and since when that is known.

        `owners`: those that run something.
        """
        now_s = time.monotonic()
        if now_s - self._last_s > DEAF_S:
            return {}
        returned_s = self._returned_s(owners)
        silent_s = {host: now_s - self._silent_since_s(host, returned_s) for host in hosts}
        return {
            host: now_ms - int((each_s - self._silent_s_max) * 1_000)
            for host, each_s in silent_s.items()
            if each_s >= self._silent_s_max
        }

    def _silent_since_s(self, host: str, returned_s: float) -> float:
        heard_s = self._heard_s[host] if host in self._back_s else returned_s
        return max(heard_s, self._anew_s.get(host, 0.0))

    def _returned_s(self, owners: Collection[str]) -> float:
        """When half of the owners were back; else when they have had the time to be."""
        back_s = sorted(at_s for host, at_s in self._back_s.items() if host in owners)
        half = (len(owners) + 1) // 2
        patience_ends_s = self._since_s + self._return_s_max
        return min(patience_ends_s, back_s[half - 1]) if 0 < half <= len(back_s) else patience_ends_s

    def _begin(self) -> None:
        self._since_s = time.monotonic()
        self._back_s = {}

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
                self._begin()
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
            self._begin()
        elif deaf_s > DEAF_S:
            unspared = [host for host, at_s in self._heard_s.items() if at_s >= self._anew_s.get(host, 0.0)]
            self._anew_s |= dict.fromkeys(unspared, now_s)
        self._last_s = now_s
        self._heard_s |= dict.fromkeys(hosts, now_s)
        self._back_s = dict.fromkeys(hosts, now_s) | self._back_s
