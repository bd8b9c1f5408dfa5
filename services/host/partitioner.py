"""Which partition a record goes to: the same that Kafka's own producers would choose for its key.

Hashing in Python is slow, so the answer for each key is remembered, up to a bound.
"""

from collections.abc import Sequence

from aiokafka.partitioner import murmur2

REMEMBERED_KEYS_MAX = 200_000


class Partitioner:
    """For one topic. Records without a key stay together, in the partition of the task that made them."""

    def __init__(self, partitions: int, home: int) -> None:
        self._partitions = partitions
        self._home = home % partitions
        self._known: dict[bytes | None, int] = {None: self._home}

    def spread(self, keys: Sequence[bytes | None]) -> list[int] | int:
        """The partition of each record, or one number if all go to the same."""
        if self._partitions == 1:
            return 0
        distinct = set(keys)
        if distinct == {None}:
            return self._home
        known = self._known
        unknown = distinct.difference(known)
        if unknown:
            if len(known) > REMEMBERED_KEYS_MAX:
                known.clear()
                known[None] = self._home
                unknown = distinct
            for key in unknown:
                known[key] = self._home if key is None else (murmur2(key) & 0x7FFFFFFF) % self._partitions
        targets = {known[key] for key in distinct}
        return targets.pop() if len(targets) == 1 else [known[key] for key in keys]
