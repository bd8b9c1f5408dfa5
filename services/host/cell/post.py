"""Post: carries ants to other hosts and brings those that come, over the three control topics.

Ants for the same next host wait a few milliseconds for each other and leave in one envelope. Nothing here insists: an
ant that can't be sent is dropped and counted, and so is one that finds a queue full. A host reads one partition of each
topic, from where it ends when the host starts, and skips by its key what is addressed to others.
"""

import asyncio
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from services.process.clock import BrokerClock
from topics.ants.envelope import ANTS_MAX, Contents, Travelling, seal
from topics.ants.gate import Gate
from topics.ants.kinds import TOPIC_OF
from topics.ants.probes import Echo, Probe
from topics.catalogue import ANT_PARTITIONS, ANTS_ENFORCEMENT, ANTS_ROUTING, ANTS_SCOUTING
from topics.errors import MessageError

log = structlog.get_logger(__name__)

CONTROL_TOPICS = (ANTS_ROUTING, ANTS_SCOUTING, ANTS_ENFORCEMENT)
PAUSE_S = 0.5
FETCH_WAIT_MS = 2_000
"""So long a fetch waits at the broker where no ant comes."""


@dataclass(frozen=True, slots=True)
class PostParams:
    """How ants travel."""

    linger_ms: float = 3.0
    """How long ants for the same next host wait for each other. Probes do not wait."""
    waiting_max: int = 4_096
    """Ants that wait to leave, and envelopes on their way to the broker."""
    lagging_ms: float = 1_000.0
    """If ants come in later than this, the control topics lag: leaders then hold back."""

    def __post_init__(self) -> None:
        if self.linger_ms < 0 or self.waiting_max < 1 or self.lagging_ms <= 0:
            raise ValueError(f"{self}: give a linger of 0 or more, and limits above 0")


def inbox_of(host: str) -> int:
    """The partition of each control topic that a host reads: the same in every process."""
    return zlib.crc32(host.encode()) % ANT_PARTITIONS


OnContents = Callable[[Contents, float], None]
"""Called with what was let in, and when it came by the broker's time."""


class Post:
    """Of one host. `start`, then `run` until cancelled; `send` at any time in between; `stop`."""

    def __init__(
        self,
        bootstrap: str,
        gate: Gate,
        boot_id: str,
        clock: BrokerClock,
        *,
        on_contents: OnContents,
        params: PostParams | None = None,
    ) -> None:
        self.gate = gate
        self.sent: Counter[str] = Counter()
        self.came: Counter[str] = Counter()
        self.dropped = 0
        self.bytes_sent = 0
        self._host = gate.name
        self._boot_id = boot_id
        self._clock = clock
        self._on_contents = on_contents
        self._params = params or PostParams()
        self._outboxes: dict[tuple[str, str], list[Travelling]] = {}
        self._waiting = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._sequences: Counter[str] = Counter()
        self._flush: asyncio.TimerHandle | None = None
        self._late_ms = 0.0
        self._partitions = [TopicPartition(topic.name, inbox_of(self._host)) for topic in CONTROL_TOPICS]
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            client_id=f"stig.cell.{self._host}",
            acks=1,
            linger_ms=0,
            request_timeout_ms=5_000,
            retry_backoff_ms=50,
            metadata_max_age_ms=5_000,
            max_request_size=2**20,
        )
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            client_id=f"stig.cell.{self._host}",
            enable_auto_commit=False,
            auto_offset_reset="latest",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            retry_backoff_ms=50,
            metadata_max_age_ms=5_000,
            request_timeout_ms=10_000,
        )

    async def start(self) -> None:
        """Connect, and read from here on. May be called again after it has raised a KafkaError."""
        await self._producer.start()
        await self._consumer.start()
        self._consumer.assign(self._partitions)
        await self._consumer.seek_to_end(*self._partitions)

    async def stop(self) -> None:
        """Ants that still wait are lost."""
        if self._flush is not None:
            self._flush.cancel()
        await self._consumer.stop()
        await self._producer.stop()

    async def run(self) -> None:
        """Brings ants in, for ever."""
        while True:
            try:
                fetched = await self._consumer.getmany(timeout_ms=1_000)
            except KafkaError as error:
                log.warning("ants can't be read; trying again", error=repr(error))
                await asyncio.sleep(PAUSE_S)
                continue
            if not fetched:
                self._late_ms = 0.0
            for at, records in fetched.items():
                for record in records:
                    if record.key == self._host.encode():
                        self._let_in(at, record.value, record.offset)

    @property
    def _queued(self) -> int:
        return self._waiting + len(self._leaving)

    @property
    def is_lagging(self) -> bool:
        """Whether ants come in late, or can't get out."""
        return self._late_ms > self._params.lagging_ms or self._queued > self._params.waiting_max / 2

    def send(self, to: str, each: Travelling) -> None:
        """Let an ant leave soon."""
        if self._queued >= self._params.waiting_max:
            self.dropped += 1
            return
        outbox = (TOPIC_OF[type(each.ant)].name, to)
        self._outboxes.setdefault(outbox, []).append(each)
        self._waiting += 1
        if isinstance(each.ant, Probe | Echo) or len(self._outboxes[outbox]) >= ANTS_MAX:
            self._post(outbox)
        elif self._flush is None:
            self._flush = asyncio.get_running_loop().call_later(self._params.linger_ms / 1e3, self._post_all)

    def _post_all(self) -> None:
        self._flush = None
        for outbox in list(self._outboxes):
            self._post(outbox)

    def _post(self, outbox: tuple[str, str]) -> None:
        ants = self._outboxes.pop(outbox)
        self._waiting -= len(ants)
        self._leave(*outbox, ants)

    def _leave(self, topic: str, to: str, ants: list[Travelling]) -> None:
        """Seal ants and hand them to the producer; halve what is too much for one envelope."""
        self._sequences[to] += 1
        contents = Contents(self._host, self._boot_id, self._sequences[to], self._clock.now_ms(), tuple(ants))
        try:
            envelope = seal(contents, key=self.gate.key, topic=topic, target=to)
            value = ANTS_ROUTING.codec.encode(envelope, topic=topic)  # the same message on all three
        except (MessageError, OverflowError) as error:
            if len(ants) == 1:
                self.dropped += 1
                log.warning("an ant can't travel", kind=type(ants[0].ant).__name__, error=str(error))
                return
            middle = len(ants) // 2
            self._leave(topic, to, ants[:middle])
            self._leave(topic, to, ants[middle:])
            return
        for each in ants:
            self.sent[type(each.ant).__name__] += 1
        self.bytes_sent += len(value)
        task = asyncio.ensure_future(self._hand_over(topic, to, value, len(ants)))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _hand_over(self, topic: str, to: str, value: bytes, count: int) -> None:
        try:
            landed = await self._producer.send(topic, value, to.encode(), partition=inbox_of(to))
            await landed
        except KafkaError as error:
            self.dropped += count
            log.debug("ants were lost on the way out", to=to, error=repr(error))

    def _let_in(self, at: TopicPartition, value: bytes | None, offset: int) -> None:
        now_ms = self._clock.now_ms()
        contents = self.gate.admit(value, topic=at.topic, partition=at.partition, offset=offset, now_ms=now_ms)
        self._late_ms = self.gate.age_ms  # also of what comes so late that it is not let in: the longest lag of all
        if contents is None:
            return
        for each in contents.ants:
            self.came[type(each.ant).__name__] += 1
        self._on_contents(contents, now_ms)
