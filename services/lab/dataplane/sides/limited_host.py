"""Side: a host whose polls bring a limited number of records of each partition, as a trickle of input would."""

import sys
from typing import Any

from aiokafka import TopicPartition

from services.host.fetch import BlockConsumer, Record
from services.host.main import main


def limit_polls(records_max: int) -> None:
    """Hand out what was fetched a few records at a time; what is left waits for the next poll."""
    fetch, assign = BlockConsumer.getmany, BlockConsumer.assign
    waiting: dict[TopicPartition, list[Record]] = {}

    async def getmany(self: BlockConsumer, *partitions: TopicPartition, **options: Any) -> dict[TopicPartition, Any]:
        if not any(waiting.get(at) for at in partitions):
            for at, records in (await fetch(self, *partitions, **options)).items():
                waiting[at] = records[::-1]
        polled = {}
        for at in partitions:
            left = waiting.get(at)
            if left:
                polled[at] = left[: -records_max - 1 : -1]
                del left[-records_max:]
        return polled

    def assigned(self: BlockConsumer, partitions: list[TopicPartition]) -> None:
        waiting.clear()  # what was fetched for the former assignment is fetched again
        assign(self, partitions)

    BlockConsumer.getmany = getmany
    BlockConsumer.assign = assigned


if __name__ == "__main__":
    limit_polls(int(sys.argv.pop(1)))
    main()
