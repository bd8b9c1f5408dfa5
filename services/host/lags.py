"""How far tasks are behind: records fetched or waiting on the broker that are not yet processed.

Only fetches tell where a partition ends. Of one that is not fetched, since its task is parked or recovers, nothing is
known: to say 0 would be to say that all is well.
"""

from collections.abc import Collection, Mapping
from typing import Any

from aiokafka import TopicPartition


class Lags:
    """Of all that one consumer fetches."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._ends: dict[TopicPartition, int] = {}
        """As the last fetch told, also of those that were asked for anew and not answered yet."""

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """These are fetched from now on; what was known of others grows old."""
        self._ends = {at: end for at, end in self._ends.items() if at in partitions}

    def lag(self, unprocessed: Mapping[TopicPartition, int | None]) -> int | None:
        """Over all these partitions. By each: the first offset not yet processed; None: all that was fetched is."""
        lags = [self._lag(at, offset) for at, offset in unprocessed.items()]
        known = [each for each in lags if each is not None]
        return sum(known) if len(known) == len(lags) else None

    def _lag(self, at: TopicPartition, offset: int | None) -> int | None:
        assignment = self._consumer._subscription.subscription.assignment
        if at not in assignment.tps:
            return None
        fetching = assignment.state_value(at)
        if fetching.highwater is not None:
            self._ends[at] = fetching.highwater
        # What lies between the last record and the position are a transaction's markers, which nobody has to process.
        done = fetching._position if offset is None else offset
        end = self._ends.get(at)
        return max(0, end - done) if end is not None and done is not None else None
