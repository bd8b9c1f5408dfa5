"""What a task does next, and how much may be fetched for it meanwhile."""

import asyncio
from types import SimpleNamespace
from typing import Any

from services.host.ahead import AHEAD_SHARE, Ahead
from services.host.fetch import RECORD_BYTES, Block
from services.host.inbox import BLOCKS_MAX, BYTES_MAX, SMALL_BYTES_MAX, FetchedBlock, Inbox, Order, joined

TASK: Any = None


def block(*values: bytes, input_name: str = "packets", ahead: Ahead | None = None) -> FetchedBlock:
    records = Block(SimpleNamespace(value=value) for value in values)
    records.size_bytes = sum(RECORD_BYTES + len(value) for value in values)
    records.ahead = ahead
    return FetchedBlock(TASK, input_name, records)


def put(inbox: Inbox, *entries: FetchedBlock | Order) -> None:
    for entry in entries:
        if isinstance(entry, FetchedBlock):
            inbox.announce(entry)
        inbox.put(entry)


def test_small_blocks_that_wait_leave_together_in_order() -> None:
    """Each batch costs as much as a hundred records."""
    inbox = Inbox()
    put(inbox, block(b"1"), block(b"2", b"3"), block(b"4"))
    blocks = asyncio.run(inbox.next(None))
    assert isinstance(blocks, list)
    assert [b"1", b"2", b"3", b"4"] == [record.value for record in joined(blocks)]
    inbox.done(blocks)
    assert inbox.is_idle


def test_an_order_stays_between_the_blocks_around_it() -> None:
    """Time goes on where nothing came, and nowhere else."""
    inbox = Inbox()
    put(inbox, block(b"1"), Order.TICK, block(b"2"))

    async def three() -> list[Any]:
        return [await inbox.next(None) for _ in range(3)]

    first, second, third = asyncio.run(three())
    assert ([b"1"], Order.TICK, [b"2"]) == (
        [record.value for record in joined(first)],
        second,
        [record.value for record in joined(third)],
    )


def test_a_stop_overtakes_what_waits() -> None:
    """The next owner fetches it again; it must not wait until a slow host has worked it off."""
    inbox = Inbox()
    put(inbox, block(b"1"), Order.TICK, block(b"2"))
    inbox.stop()
    assert [Order.STOP, Order.STOP] == [asyncio.run(inbox.next(None)) for _ in range(2)]


def test_a_stop_wakes_a_task_that_has_nothing_to_do() -> None:
    """At once, not at its next commit."""

    async def stopped() -> object:
        inbox = Inbox()
        asyncio.get_running_loop().call_soon(inbox.stop)
        async with asyncio.timeout(60):
            return await inbox.next(None)

    assert Order.STOP is asyncio.run(stopped())


def test_blocks_of_two_inputs_stay_apart() -> None:
    """A batch belongs to one input; and the order between inputs is kept."""
    inbox = Inbox()
    put(inbox, block(b"1"), block(b"2", input_name="other"), block(b"3"))

    async def three() -> list[Any]:
        return [await inbox.next(None) for _ in range(3)]

    assert [["packets"], ["other"], ["packets"]] == [
        [each.input_name for each in blocks] for blocks in asyncio.run(three())
    ]


def test_a_commit_is_due_when_nothing_comes_in_time() -> None:
    """What was processed must not wait for the next record."""
    assert Order.COMMIT is asyncio.run(Inbox().next(0.001))


def test_large_blocks_are_bounded_by_their_number() -> None:
    """Memory is bounded however slow the sink is."""
    inbox = Inbox()
    for _ in range(BLOCKS_MAX):
        assert inbox.has_room
        put(inbox, block(b"x" * SMALL_BYTES_MAX))
    assert not inbox.has_room


def test_a_block_of_many_bytes_is_under_way_alone() -> None:
    """What was compressed a hundredfold must not be in memory three times for each partition."""
    inbox = Inbox()
    put(inbox, block(b"x" * BYTES_MAX))
    assert not inbox.has_room
    blocks = asyncio.run(inbox.next(None))
    assert isinstance(blocks, list)
    inbox.done(blocks)
    assert inbox.has_room


def test_small_blocks_are_bounded_by_their_bytes() -> None:
    """A trickle may run ahead, but not for ever."""
    inbox = Inbox()
    fetched = 0
    while inbox.has_room:
        put(inbox, block(b"x" * 1_000))
        fetched += 1
    assert BLOCKS_MAX < fetched < SMALL_BYTES_MAX // 1_000


def test_a_block_counts_until_it_is_processed() -> None:
    """Else a slow operator would be fetched for without end."""
    inbox = Inbox()
    for _ in range(BLOCKS_MAX):
        put(inbox, block(b"x" * SMALL_BYTES_MAX))
    blocks = asyncio.run(inbox.next(None))
    assert isinstance(blocks, list)
    assert (False, False) == (inbox.has_room, inbox.is_idle)
    inbox.done(blocks)
    assert inbox.has_room


MIB = 2**20


def large(ahead: Ahead) -> FetchedBlock:
    """As much as one fetch brings of one partition."""
    return block(b"x" * (MIB - RECORD_BYTES), ahead=ahead)


def test_many_tasks_together_fetch_no_more_ahead_than_their_host_has_room_for() -> None:
    """Two hundred of them held 1.6 GB after an outage of the brokers, where 512 MB are allowed."""
    ahead, inboxes = Ahead(16 * MIB), [Inbox() for _ in range(10)]
    for _ in range(BLOCKS_MAX):
        for inbox in inboxes:
            if inbox.has_room:
                put(inbox, large(ahead))
    assert AHEAD_SHARE * 16 * MIB == ahead.bytes_max
    assert ahead.bytes_max < ahead.bytes < ahead.bytes_max + len(inboxes) * MIB, "at most one more each"


def test_without_a_limit_each_task_fetches_ahead_as_far_as_it_may() -> None:
    ahead, inbox = Ahead(), Inbox()
    while inbox.has_room:
        put(inbox, large(ahead))
    assert BLOCKS_MAX * MIB == ahead.bytes


def test_a_task_with_nothing_under_way_has_room_on_a_full_host() -> None:
    """It has to go on, too; and when it is through with what it has it hears that there is room."""
    ahead, busy, other = Ahead(4 * MIB), Inbox(), Inbox()
    put(busy, large(ahead))
    assert not busy.has_room
    assert other.has_room
    put(other, large(ahead))
    assert not other.has_room
    (got,) = asyncio.run(other.next(None))
    other.done([got])
    assert (True, False, MIB) == (other.has_room, busy.has_room, ahead.bytes)


def test_small_blocks_may_wait_on_a_full_host() -> None:
    """A trickle must not become as many batches just because others have a backlog."""
    ahead, inbox = Ahead(4 * MIB), Inbox()
    ahead.bytes = 4 * MIB
    put(inbox, block(b"1", ahead=ahead), block(b"2", ahead=ahead))
    assert inbox.has_room


def test_what_a_task_leaves_behind_counts_no_longer() -> None:
    """Else a host on which tasks come and go would be full for good. What still comes for it counts for nobody."""
    ahead, inbox = Ahead(4 * MIB), Inbox()
    put(inbox, large(ahead), large(ahead))
    (got, _) = asyncio.run(inbox.next(None))  # type: ignore[misc]
    inbox.close()
    assert 0 == ahead.bytes
    inbox.announce(large(ahead))
    inbox.done([got])
    assert 0 == ahead.bytes
