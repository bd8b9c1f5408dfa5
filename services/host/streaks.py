"""Streaks: how many records in a row each part of a task could not process, and when that is too many to go on.

A record that fails goes to the dead letters, and the next one has its turn. A source, operator or sink that fails on
everything would pour a whole topic into the dead letters that way, when all that is wrong is one function or one codec.
So past a limit the task ends with `FailsOnEverythingError`, its transaction is aborted, and the records wait where they
are. A streak belongs to the partition's seat on this host: it goes on after a restart from what was committed.
"""

from collections.abc import Container, Iterable, Mapping

from services.operators.failure import Failure


class FailsOnEverythingError(Exception):
    """A part of the task fails on one record after the other."""


class Streaks:
    """`compare` what became of each batch, by part; `committed` when that counts, `rolled_back` for the next task."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._now: dict[str, int] = {}
        self._committed: dict[str, int] = {}
        self._latest: set[str] = set()
        """What failed on all that came to it in the last batch; a part that got nothing says nothing."""
        self._grown: set[str] = set()
        """What has failed since this task began, without a success after it."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing has failed since the last success: then a batch without failures need not be noted."""
        return not self._now

    @property
    def has_grown(self) -> bool:
        """Whether some part has failed on everything in the time of this task, not of those before it."""
        return bool(self._grown)

    def is_failing_but_for(self, parts: Container[str]) -> bool:
        """Whether any other part failed on all of the last batch.

        A streak alone does not say so: that of a silent input, or of a route that nothing takes, never ends.
        """
        return any(part not in parts for part in self._latest)

    def compare(self, tried: Mapping[str, int], failures: Iterable[Failure]) -> None:
        """Of each part that can fail: how many came in, and which of these failed."""
        self._latest.clear()
        errors: dict[str, list[str]] = {}
        for failure in failures:
            errors.setdefault(failure.operator, []).append(failure.error)
        for part, count in tried.items():
            found = errors.get(part, [])
            self.note(part, count, len(found), found[-1] if found else "")

    def note(self, part: str, tried: int, failed: int, last_error: str) -> None:
        """Of so many records so many failed. Raises FailsOnEverythingError past the limit."""
        if not tried:
            return
        if failed < tried:
            self._now.pop(part, None)
            self._grown.discard(part)
            return
        self._latest.add(part)
        self._grown.add(part)
        in_a_row = self._now[part] = self._now.get(part, 0) + failed
        if in_a_row >= self._limit:
            raise FailsOnEverythingError(
                f"{part} failed on {in_a_row:,} records in a row, the last time with: {last_error}. They wait where "
                f"they are. Correct it and run the flow again; or set park_after higher, and they become dead letters"
            )

    def committed(self) -> None:
        """What was noted is known to the broker."""
        self._committed = self._now.copy()

    def rolled_back(self) -> None:
        """Another task begins: what was noted since the last commit will happen again."""
        self._now = self._committed.copy()
        self._latest.clear()
        self._grown.clear()
