"""Side: a host whose polls bring a limited number of records of each partition, as a trickle of input would.

What a fetch brought stays as it came, and a poll makes its records when it hands them out: records made for many polls
ahead would have left the processor's caches by the time they are looked at, and those of a trickle never do.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import chain, dropwhile, islice
from typing import Any

from aiokafka.consumer.fetcher import FetchResult

from services.host import fetch
from services.host.fetch import RECORD_BYTES, Block, Record, is_skipped
from services.host.main import main

RECORD_VALUE_BYTES = 120
"""Of the bench's records, about: a host that is not limited weighs none of them, either."""


def limit_polls(records_max: Callable[[], int]) -> None:
    """Hand out what was fetched a few records at a time; what is left waits for the next poll."""

    def take_some(answer: FetchResult, _max_records: int | None = None) -> Block:
        if not answer.has_more() or not answer.check_assignment(answer._topic_partition):
            return Block()
        fetched, most = answer._partition_records, records_max()
        block = Block(islice(vars(answer).setdefault("waiting", _records(fetched)), most))
        block.size_bytes = (RECORD_BYTES + RECORD_VALUE_BYTES) * len(block)
        if len(block) == most:
            fetched.next_fetch_offset = block[-1].offset + 1
        answer._update_position()
        if len(block) < most:
            fetched._records_iterator = answer._partition_records = None  # each would hold the other, as in `fetch`
            del answer.getall, answer.waiting
        return block

    fetch.take_block = take_some


def _records(fetched: Any) -> Iterator[Record]:
    wanted = fetched.next_fetch_offset
    return dropwhile(lambda record: record.offset < wanted, chain.from_iterable(_batches(fetched)))


def _batches(fetched: Any) -> Iterator[Any]:
    while fetched._records.has_next():
        batch = fetched._records.next_batch()
        if not is_skipped(fetched, batch):
            yield batch
        fetched.next_fetch_offset = batch.next_offset


if __name__ == "__main__":
    most = int(sys.argv.pop(1))
    limit_polls(lambda: most)
    main()
