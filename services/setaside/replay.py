"""Sending the records of dead letters to their origin topics again, each once.

They go in portions. Each is one transaction, together with a bookmark behind its letters: a replay that is cut short
has sent some portions whole, and the next one goes on after them.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaException, Producer, TopicPartition

from services.registry.errors import RegistryError
from services.registry.snapshot import TIMEOUT_S, read_to_end, reader
from services.setaside import bookmark
from services.setaside.letters import Letter
from topics import names
from topics.messages import Origin
from topics.names import landmark_topic

Headers = list[tuple[str, bytes | None]]
REPLAY_HEADER = "stig-replay-of"
"""Added to a replayed record: the topic/partition/offset that it was first read at."""
PORTION_LETTERS_MAX = 1_000
PORTION_BYTES_MAX = 8_000_000
TRANSACTION_TIMEOUT_MS = 15_000
"""Readers of the origin topics wait behind a transaction of ours that stays open for no longer than this."""
COMMIT_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Original:
    """A record to be sent again, to the partition where it came from, with the time that it had."""

    number: int
    origin: Origin
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """A letter whose record is not sent, and why."""

    number: int
    why: str


Choice = Original | Skipped


def choose(bootstrap: str, letters: Iterable[Letter], *, first: int = 0) -> Iterator[Choice]:
    """What is to be sent for each letter from the `first` on; those before it were replayed.

    A record that several operators gave up is sent for the first of its letters only.
    """
    seen: set[tuple[str, int, int]] = set()
    for each in letters:
        if each.number < first:
            if each.letter is not None:
                seen.add(_place(each.letter.origin))
        elif each.letter is None:
            yield Skipped(each.number, f"unreadable: {each.unreadable}")
        elif each.letter.computed == "several":
            yield Skipped(each.number, "computed from several records: there is no one record to send again")
        elif names.parse(names.EDGE, each.letter.origin.topic) is not None:
            yield Skipped(each.number, "a stranger's record on an edge between segments: it would be set aside again")
        elif _place(each.letter.origin) in seen:
            yield Skipped(each.number, "its record is already sent for an earlier letter")
        else:
            seen.add(_place(each.letter.origin))
            original = _original(bootstrap, each)
            yield original if original is not None else Skipped(each.number, "its record is gone from the origin topic")


def portions(choices: Iterable[Choice]) -> Iterator[list[Choice]]:
    """The choices in order, as many at a time as one transaction may hold."""
    portion: list[Choice] = []
    size_bytes = 0
    for each in choices:
        portion.append(each)
        if isinstance(each, Original):
            size_bytes += len(each.key or b"") + len(each.value or b"")
        if len(portion) >= PORTION_LETTERS_MAX or size_bytes >= PORTION_BYTES_MAX:
            yield portion
            portion, size_bytes = [], 0
    if portion:
        yield portion


class Replay:
    """Sends portions. To begin ends every other replay of the flow: none of its portions can come any more."""

    def __init__(self, bootstrap: str, flow: str) -> None:
        self._flow = flow
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": f"stig.replay.{flow}",
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "message.max.bytes": 10 * PORTION_BYTES_MAX,  # each topic has its own limit, and the broker knows it
                "log_level": 0,
            }
        )
        try:
            self._producer.init_transactions(TIMEOUT_S)
        except KafkaException as fault:
            raise RegistryError(f"nothing was replayed: {fault.args[0].str()}", "try again") from fault

    def send(self, portion: Sequence[Choice], *, bookmark_at: int | None) -> None:
        """All of it or nothing. `bookmark_at`: the first letter that is not replayed after this; None to leave it.

        Raises RegistryError, which says what is known of the portion.
        """
        letters = f"letters {portion[0].number} to {portion[-1].number}"
        try:
            self._producer.begin_transaction()
            for each in portion:
                if isinstance(each, Original):
                    self._produce(each)
            if bookmark_at is not None:
                key, value = bookmark.entry(self._flow, bookmark_at, now_ms=time.time_ns() // 1_000_000)
                self._producer.produce(landmark_topic(self._flow), value, key, partition=0)
            self._commit(letters, is_noted=bookmark_at is not None)
        except KafkaException as fault:
            self._abort()
            raise RegistryError(
                f"{letters} were not replayed: {fault.args[0].str()}",
                "those before them were; a replay goes on after the last that was sent",
            ) from fault
        except BaseException:
            self._abort()
            raise

    def _produce(self, original: Original) -> None:
        at = original.origin
        headers = [header for header in original.headers if header[0] != REPLAY_HEADER]
        self._producer.produce(
            at.topic,
            original.value,
            original.key,
            partition=at.partition,
            timestamp=original.timestamp_ms or 0,  # 0: that of sending
            headers=[*headers, (REPLAY_HEADER, f"{at.topic}/{at.partition}/{at.offset}".encode())],
        )

    def _commit(self, letters: str, *, is_noted: bool) -> None:
        deadline_s = time.monotonic() + COMMIT_S_MAX
        while True:
            try:
                self._producer.commit_transaction(TIMEOUT_S)
            except KafkaException as fault:
                if not fault.args[0].retriable():
                    raise
                if time.monotonic() > deadline_s:
                    raise RegistryError(
                        f"no broker said whether {letters} are replayed: {fault.args[0].str()}",
                        "try again: it goes on after the last that was sent"
                        if is_noted
                        else f"before you try again, look for header {REPLAY_HEADER} at the end of their origin topics",
                    ) from fault
            else:
                return

    def _abort(self) -> None:
        """Readers of committed records wait behind an open transaction; one that can't be aborted runs out of time."""
        with contextlib.suppress(KafkaException):
            self._producer.abort_transaction(TIMEOUT_S)


def _place(origin: Origin) -> tuple[str, int, int]:
    return origin.topic, origin.partition, origin.offset


def _original(bootstrap: str, each: Letter) -> Original | None:
    """The record of a letter; None if it must be read where it came from and is no longer there."""
    letter = each.letter
    assert letter is not None, each
    if letter.cut or letter.computed is not None:
        return _at_origin(bootstrap, each.number, letter.origin)
    headers: Headers = [(header.name, header.value) for header in letter.headers]
    return Original(each.number, letter.origin, letter.key, letter.value, headers, letter.timestamp_ms)


def _at_origin(bootstrap: str, number: int, origin: Origin) -> Original | None:
    with reader(bootstrap) as consumer:
        if origin.topic not in consumer.list_topics(timeout=TIMEOUT_S).topics:
            return None
        at = TopicPartition(origin.topic, origin.partition)
        record = next(read_to_end(consumer, [at], starts=lambda at: origin.offset), None)
        if record is None or record.offset() != origin.offset:
            return None
        found: Any = record.headers() or ()
        headers: Headers = [(name, value.encode() if isinstance(value, str) else value) for name, value in found]
        kind, timestamp_ms = record.timestamp()
        known_ms = timestamp_ms if kind != TIMESTAMP_NOT_AVAILABLE else None
        return Original(number, origin, record.key(), record.value(), headers, known_ms)
