"""The dead letters of a task, held until it commits: they are few, and a write for each batch would cost more than they
do. A flood of them goes into the open transaction as it comes, so that it takes neither memory nor more commits.

A slow function's are all held while it fails on everything: to write them would open a transaction, which could grow
too old before what was fetched is worked off (`Task._work_off`). Of its own they are `park_after` at most.
"""

from collections.abc import Iterable, Mapping

from services.host.fetch import Record
from services.host.set_aside import Entry, dead_letter
from services.host.task_output import TaskOutputs
from services.operators.failure import Failure
from topics.messages import Origin

HELD_BYTES_MAX = 4_000_000
ENTRY_BYTES = 160
"""What an entry takes in memory besides the bytes of its key and value: a tuple, and two objects' heads."""


class DeadLetters:
    """`add` what failed; `write` when the task commits."""

    def __init__(self, flow: str, outputs: TaskOutputs) -> None:
        self._flow = flow
        self._outputs = outputs
        self._held: list[Entry] = []
        self._held_bytes = 0

    async def add(
        self,
        failures: Iterable[Failure],
        origin: Origin,
        originals: Mapping[int, Record],
        *,
        now_ms: int,
        may_write: bool,
    ) -> None:
        """The letters of these failures. `may_write`: whether a transaction may be opened for them."""
        for failure in failures:
            letter = dead_letter(self._flow, failure, origin, originals, now_ms=now_ms)
            self._held.append(letter)
            self._held_bytes += ENTRY_BYTES + len(letter[1] or b"") + len(letter[2])
            if may_write and self._held_bytes > HELD_BYTES_MAX:
                await self.write(now_ms)

    async def write(self, now_ms: int) -> None:
        """All that are held, into the open transaction."""
        await self._outputs.write_entries(self._held, now_ms)
        self._held = []
        self._held_bytes = 0
