"""Side: a host whose polls bring a limited number of records of each partition, as a trickle of input would."""

import sys
from collections.abc import Container

from aiokafka import TopicPartition

from services.host.fetch import RECORD_BYTES, Block, BlockConsumer, Record, values_bytes
from services.host.main import main


def limit_polls(records_max: int) -> None:
    """Hand out what was fetched a few records at a time; what is left waits for the next poll."""
    fetch, assign = BlockConsumer.blocks, BlockConsumer.assign
    waiting: dict[TopicPartition, list[Record]] = {}

    async def blocks(
        self: BlockConsumer, wanted: Container[TopicPartition], *, timeout_ms: int
    ) -> dict[TopicPartition, Block]:
        if not any(left and at in wanted for at, left in waiting.items()):
            for at, records in (await fetch(self, wanted, timeout_ms=timeout_ms)).items():
                waiting[at] = records[::-1] + waiting.get(at, [])
        polled = {}
        for at, left in waiting.items():
            if left and at in wanted:
                block = polled[at] = Block(left[: -records_max - 1 : -1])
                block.size_bytes = RECORD_BYTES * len(block) + values_bytes([record.value for record in block])
                del left[-records_max:]
        return polled

    def assigned(self: BlockConsumer, partitions: list[TopicPartition]) -> None:
        waiting.clear()  # what was fetched for the former assignment is fetched again
        assign(self, partitions)

    BlockConsumer.look_again = BlockConsumer.interrupt  # type: ignore[method-assign] # what waits here is no fetch
    BlockConsumer.blocks = blocks  # type: ignore[method-assign]
    BlockConsumer.assign = assigned


if __name__ == "__main__":
    limit_polls(int(sys.argv.pop(1)))
    main()
