"""How far a task is behind, and when nobody knows."""

from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition

from services.host.lags import Lags

ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 0)


class Consumer:
    """What aiokafka's says of its partitions: (where the last fetch saw the end, where the next one begins)."""

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, tuple[int | None, int | None]] = {}

    @property
    def _subscription(self) -> Any:
        assignment = SimpleNamespace(tps=set(self.partitions), state_value=self._state)
        return SimpleNamespace(subscription=SimpleNamespace(assignment=assignment))

    def _state(self, at: TopicPartition) -> Any:
        highwater, position = self.partitions[at]
        return SimpleNamespace(highwater=highwater, _position=position)


def test_a_lag_is_what_is_not_processed_of_all_inputs() -> None:
    """Markers of transactions between the last record and the end are nothing to process."""
    consumer = Consumer()
    lags = Lags(consumer)
    consumer.partitions = {ORDERS: (100, 90), CLICKS: (50, 50)}
    assert 30 + 0 == lags.lag({ORDERS: 70, CLICKS: None})
    assert 10 + 0 == lags.lag({ORDERS: None, CLICKS: None})


def test_nobody_knows_the_lag_of_what_was_not_fetched() -> None:
    """One input of which nothing is known is enough: it may be the one that is far behind."""
    consumer = Consumer()
    lags = Lags(consumer)
    assert lags.lag({ORDERS: 70}) is None
    consumer.partitions = {ORDERS: (100, 90), CLICKS: (None, 0)}
    assert lags.lag({ORDERS: 70, CLICKS: 0}) is None
    assert lags.lag({ORDERS: 70}) == 30


def test_a_lag_is_still_known_when_all_is_asked_for_anew_but_not_when_it_was_given_up() -> None:
    """A neighbour that moves is no reason to know nothing; what was parked for an hour has another end by now."""
    consumer = Consumer()
    lags = Lags(consumer)
    consumer.partitions = {ORDERS: (100, 90)}
    assert 30 == lags.lag({ORDERS: 70})
    consumer.partitions = {ORDERS: (None, 90), CLICKS: (None, 0)}
    lags.assigned({ORDERS, CLICKS})
    assert 25 == lags.lag({ORDERS: 75})
    lags.assigned({CLICKS})
    assert lags.lag({ORDERS: 75}) is None
