"""A replica reads in portions, so that the other tasks of its host have their turn, and none gets lost in between."""

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

from services.host import replica as under_test
from services.host.disk import StateFullError
from services.host.replica import PORTION_ENTRIES, Replica
from tests.unit.host.stand_ins import Fetched

AT = TopicPartition("changes", 0)
BLOCK = list(range(5 * PORTION_ENTRIES + 1))


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    portions: list[list[int]] = []
    monkeypatch.setattr(under_test, "apply", lambda _program, _operator, records: portions.append(records))
    return portions


def replica() -> Replica:
    program: Any = None
    made = Replica(program, {"count": "changes"}, "snapshots", 0, bootstrap="127.0.0.1:1", client_id="test")
    made._consumer = Fetched({AT: BLOCK})  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("is_gentle", [False, True])
def test_others_have_their_turn_between_portions(applied: list[list[int]], is_gentle: bool) -> None:
    async def story() -> list[int]:
        each = replica()
        each.is_gentle = is_gentle
        reading = asyncio.create_task(each.catch_up())
        seen = []
        while not reading.done():
            seen.append(len(applied))
            await asyncio.sleep(0)
        return seen

    assert set(range(1, 6)) <= set(asyncio.run(story()))
    assert BLOCK == [entry for portion in applied for entry in portion]


def test_a_takeover_reads_what_a_standby_had_fetched_and_not_yet_applied(applied: list[list[int]]) -> None:
    """Its fetch position is past all of it: without this, changes would be missing from the state, silently."""

    async def story() -> Replica:
        each = replica()
        each.is_gentle = True
        following = asyncio.create_task(each.read(timeout_s=1))
        while not applied:
            await asyncio.sleep(0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        assert len(applied) < 5
        each.is_gentle = False
        await each.catch_up()
        return each

    each = asyncio.run(story())
    assert BLOCK == [entry for portion in applied for entry in portion]
    assert ({"count": len(BLOCK)}, len(BLOCK)) == (each.positions, each.entries_read)


def test_what_could_not_be_applied_is_applied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that was full for a moment took nothing of a portion. Were that passed over, the state would have a hole
    of which nobody hears."""
    applied: list[int] = []
    fails = [StateFullError("no space left")]

    def apply(_program: object, _operator: str, records: list[int]) -> None:
        if len(applied) > PORTION_ENTRIES and fails:
            raise fails.pop()
        applied.extend(records)

    monkeypatch.setattr(under_test, "apply", apply)

    async def story() -> None:
        each = replica()
        with pytest.raises(StateFullError):
            await each.read(timeout_s=1)
        await each.catch_up()

    asyncio.run(story())
    assert BLOCK == applied
