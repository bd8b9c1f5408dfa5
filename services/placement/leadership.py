"""Broker leadership: carries out that other brokers lead some partitions, and follows each to its end.

A partition without followers is reassigned directly: Kafka copies it and changes over. One with followers gets the
wanted leader to the head of its replicas and then an election. Nothing is lost either way; writers and readers pause
for some tenths of a second. A move that does not come to its end in time is taken back. Kafka does not know who may
ask for such things, so whoever carries them out is asked before each request whether it still may.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, for_code
from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from placement.leading import LeaderMove
from services.placement.elect_leaders import (
    ELECTION_NOT_NEEDED,
    PREFERRED_LEADER_NOT_AVAILABLE,
    ElectLeadersRequest,
)

log = structlog.get_logger(__name__)

POLL_S = 0.1
REQUEST_TIMEOUT_S = 15.0

Led = tuple[int, tuple[int, ...]]
"""Of a partition the leader and the replicas, the preferred leader first."""


MayAct = Callable[[], bool]
"""Whether what is carried out may go on; once it may not, nothing more is asked of Kafka."""


class OverruledError(Exception):
    """Somebody else decides on leaders by now."""

    def __init__(self) -> None:
        super().__init__("another instance is active by now, and goes on from here")


@dataclass(frozen=True, slots=True)
class LeaderMoved:
    """How a move ended: after how long, or why it did not."""

    move: LeaderMove
    took_s: float
    failure: str = ""


class BrokerLeadership:
    """`carry_out` moves; `regions` and `led` tell how things are. It connects when needed; close it after use."""

    def __init__(self, bootstrap: str, *, move_timeout_s: float = 60.0) -> None:
        self._timeout_s = move_timeout_s
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._requests = AIOKafkaAdminClient(
            bootstrap_servers=bootstrap, request_timeout_ms=int(REQUEST_TIMEOUT_S * 1e3)
        )

    async def close(self) -> None:
        """Lets go of the cluster."""
        await self._requests.close()

    async def regions(self) -> dict[int, str]:
        """The region of each live broker: its rack."""
        future = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S)
        described = await asyncio.to_thread(future.result)
        return {broker.id: broker.rack or "" for broker in described.nodes}

    async def led(self, topic: str | None = None) -> dict[tuple[str, int], Led]:
        """How all partitions of the cluster, or of one topic, are led."""
        found = await asyncio.to_thread(self._admin.list_topics, topic, timeout=REQUEST_TIMEOUT_S)
        return {
            (name, number): (partition.leader, tuple(partition.replicas))
            for name, each in found.topics.items()
            for number, partition in each.partitions.items()
        }

    async def carry_out(self, moves: Sequence[LeaderMove], *, may_act: MayAct = lambda: True) -> list[LeaderMoved]:
        """All at once, each to its end; those that fail are taken back, and say why."""
        await self._requests.start()
        begin_s = time.monotonic()
        refused = await self._reassign(moves, [move.after for move in moves], may_act)
        waiting = [move for move in moves if (move.topic, move.partition) not in refused]
        ends = await asyncio.gather(*(self._follow(move, begin_s, may_act) for move in waiting))
        failed = [end.move for end in ends if end.failure]
        if failed:
            await self._take_back(failed, may_act)
        return [*ends, *(LeaderMoved(m, 0.0, refused[m.topic, m.partition]) for m in moves if m not in waiting)]

    async def _follow(self, move: LeaderMove, begin_s: float, may_act: MayAct) -> LeaderMoved:
        """Waits until Kafka has copied what is to be copied, elects where need be, and waits until the leader leads."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await _until(lambda: self._is_reassigned(move))
                if move.needs_election:
                    await _until(lambda: self._is_elected(move, may_act))
                await _until(lambda: self._leads(move))
        except TimeoutError:
            return LeaderMoved(move, time.monotonic() - begin_s, f"not done after {self._timeout_s:.0f} s")
        except (KafkaError, KafkaException, OverruledError, LookupError) as fault:  # the last: the topic was deleted
            return LeaderMoved(move, time.monotonic() - begin_s, str(fault))
        return LeaderMoved(move, time.monotonic() - begin_s)

    async def _reassign(
        self, moves: Sequence[LeaderMove], replicas: Sequence[tuple[int, ...] | None], may_act: MayAct
    ) -> dict[tuple[str, int], str]:
        """Asks for these replicas (None: cancels what is under way); what was refused, and why."""
        _check(may_act)
        topics: dict[str, list[Any]] = {}
        for move, wanted in zip(moves, replicas, strict=True):
            given = list(wanted) if wanted is not None else None
            topics.setdefault(move.topic, []).append((move.partition, given, {}))
        request = AlterPartitionReassignmentsRequest(
            int(REQUEST_TIMEOUT_S * 1e3), [(topic, each, {}) for topic, each in sorted(topics.items())], {}
        )
        answer = await self._requests._send_request(request)
        if answer.error_code:
            raise for_code(answer.error_code)(answer.error_message)
        return {
            (topic, partition): f"{for_code(code).__name__}: {message}"
            for topic, partitions, _ in answer.responses
            for partition, code, message, _ in partitions
            if code
        }

    async def _is_reassigned(self, move: LeaderMove) -> bool:
        request = ListPartitionReassignmentsRequest(
            int(REQUEST_TIMEOUT_S * 1e3), [(move.topic, [move.partition], {})], {}
        )
        answer = await self._requests._send_request(request)
        if answer.error_code:
            raise for_code(answer.error_code)(answer.error_message)
        return not any(partitions for _, partitions, _ in answer.topics)

    async def _is_elected(self, move: LeaderMove, may_act: MayAct) -> bool:
        """Asks for the election; False while the wanted leader lags behind, as it does after a stall."""
        _check(may_act)
        answer = await self._requests._send_request(
            ElectLeadersRequest(move.topic, move.partition, timeout_ms=int(REQUEST_TIMEOUT_S * 1e3))
        )
        codes = [answer.error_code, *(code for _, places, _ in answer.results for _, code, _, _ in places)]
        for code in codes:
            if code not in (0, ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE):
                raise for_code(code)(f"no election of {move.topic}[{move.partition}]")
        return PREFERRED_LEADER_NOT_AVAILABLE not in codes

    async def _leads(self, move: LeaderMove) -> bool:
        leader, replicas = (await self.led(move.topic))[move.topic, move.partition]
        return leader == move.after[0] and set(replicas) == set(move.after)

    async def _take_back(self, moves: Sequence[LeaderMove], may_act: MayAct) -> None:
        """What is under way is cancelled; what was done is asked for again as it was."""
        try:
            refused = await self._reassign(moves, [None] * len(moves), may_act)
            done = [move for move in moves if (move.topic, move.partition) in refused]
            if done:
                await self._reassign(done, [move.before for move in done], may_act)
        except (KafkaError, OverruledError) as fault:
            log.warning("leaders could not be taken back; the next plan will see", error=repr(fault))


def _check(may_act: MayAct) -> None:
    if not may_act():
        raise OverruledError


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():  # noqa: ASYNC110 - Kafka tells nobody when it is done
        await asyncio.sleep(POLL_S)
