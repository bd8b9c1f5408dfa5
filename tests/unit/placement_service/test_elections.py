"""An election that Kafka refuses for the moment is asked for again, within the time that a leader's move has."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from placement.leading import LeaderMove
from services.placement.elect_leaders import ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE
from services.placement.leadership import BrokerLeadership, LeaderMoved

MOVE = LeaderMove("kept", 0, (1, 2), (2, 1), now_ms=50.0, then_ms=10.0)
NOT_CONTROLLER = 41


def followed(monkeypatch: pytest.MonkeyPatch, *codes: int) -> LeaderMoved:
    """The end of a move whose election is answered with these codes, one after the other."""
    left = list(codes)

    async def answer(_request: Any) -> Any:
        return SimpleNamespace(error_code=0, results=[("kept", [(0, left.pop(0), "", {})], {})])

    async def yes(_move: LeaderMove) -> bool:
        return True

    async def story() -> LeaderMoved:
        leadership = BrokerLeadership("127.0.0.1:1")
        monkeypatch.setattr(leadership, "_is_reassigned", yes)
        monkeypatch.setattr(leadership, "_leads", yes)
        monkeypatch.setattr(leadership._requests, "_send_request", answer)
        return await leadership._follow(MOVE, 0.0, lambda: True)

    end = asyncio.run(story())
    assert [] == left
    return end


@pytest.mark.parametrize("last", [0, ELECTION_NOT_NEEDED])
def test_a_leader_that_lags_behind_is_waited_for(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """A stall of its machine puts a replica out of sync for some seconds; the move need not fail for it."""
    refused = PREFERRED_LEADER_NOT_AVAILABLE
    assert "" == followed(monkeypatch, refused, refused, last).failure


def test_any_other_refusal_ends_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the same the next time."""
    assert "no election of kept[0]" in followed(monkeypatch, NOT_CONTROLLER).failure


def test_nothing_more_is_asked_of_kafka_once_another_instance_is_active(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even to take back what it began: the next one may have asked for it, or for the opposite."""
    asked: list[str] = []

    async def story() -> list[LeaderMoved]:
        leadership = BrokerLeadership("127.0.0.1:1")

        async def answer(request: Any) -> Any:
            asked.append(type(request).__name__)
            return SimpleNamespace(error_code=0, responses=[], topics=[])

        async def start() -> None: ...

        monkeypatch.setattr(leadership._requests, "start", start)
        monkeypatch.setattr(leadership._requests, "_send_request", answer)
        return await leadership.carry_out([MOVE], may_act=lambda: "ListPartitionReassignmentsRequest" not in asked)

    (end,) = asyncio.run(story())
    assert "another instance is active" in end.failure
    assert ["AlterPartitionReassignmentsRequest", "ListPartitionReassignmentsRequest"] == asked
