"""Which partition a record goes to: the same that Kafka's own producers would choose for its key.

The answer for each key is remembered, up to a bound, in one table for all topics of a process that have as many
partitions: a host has many tasks, and a table for each of them would fill its memory.
"""

from collections.abc import Sequence
from functools import cache
from typing import cast

from services.host.key_hash import key_hashes

REMEMBERED_KEYS_MAX = 100_000
"""About 13 MB."""


@cache
def _remembered(_partitions: int) -> dict[bytes | None, int]:
    return {}


class Partitioner:
    """For one topic. Records without a key stay together, in the partition of the task that made them."""

    def __init__(self, partitions: int, home: int) -> None:
        self._partitions = partitions
        self._home = home % partitions
        self._known = _remembered(partitions)

    def spread(self, keys: Sequence[bytes | None]) -> list[int] | int:
        """The partition of each record, or one number if all go to the same."""
        if self._partitions == 1:
            return 0
        distinct = set(keys)
        has_keyless = None in distinct
        distinct.discard(None)
        self._learn(distinct)
        known = self._known
        targets = set(map(known.__getitem__, distinct))
        if has_keyless:
            targets.add(self._home)
        if len(targets) == 1:
            return targets.pop()
        if has_keyless:
            return [self._home if key is None else known[key] for key in keys]
        return list(map(known.__getitem__, keys))

    def _learn(self, keys: set[bytes | None]) -> None:
        unknown = keys.difference(self._known)
        if not unknown:
            return
        if len(self._known) + len(unknown) > REMEMBERED_KEYS_MAX:
            self._known.clear()
            unknown = keys
        listed = cast(list[bytes], list(unknown))
        hashes = key_hashes(listed)
        self._known.update(zip(listed, [(each & 0x7FFFFFFF) % self._partitions for each in hashes], strict=True))
