"""What a batch is multiplied to is written piece by piece."""

import asyncio
from typing import Any

from services.operators.slices import ROWS_MAX

ITEMS = "items: {op: flat_map, input: orders, each: items, into: item}"


def test_no_write_holds_more_than_a_piece(task: Any, record: Any, broker: Any) -> None:
    """One fetch of records that become many each must fit into memory. Those of one fetch are one batch all the same:
    what could not be read of it is one dead letter."""

    async def story() -> None:
        running = task(ITEMS)
        value = b'{"items": [%s]}' % b",".join([b"1"] * 500)
        await running._process("orders", [record(k, value if k else b"{") for k in range(101)])
        sizes = [len(each.values) for each in broker.writes]
        assert 100 * 500 == sum(sizes)
        assert 2 * ROWS_MAX >= max(sizes)
        running.meter.committed()
        (row,) = running.meter.report("a", 7, lag=0, state_bytes={}, bytes_out=0)
        assert 1 == row.dead_letters
        assert (100, 50_000, 100) == (row.arrivals, row.outputs, row.service_us.count)

    asyncio.run(story())
