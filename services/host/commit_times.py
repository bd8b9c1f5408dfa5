"""When a task commits: as often as its flow asks for, but more seldom where a commit takes long. Pure: time comes in.

A commit is half a dozen questions to brokers that may stand in other cities, and records wait meanwhile. Then each
partition's first record of the next transaction waits again, until the coordinator of transactions has been asked about
it by the task and by the partition's leader. So where results do not wait for commits, a commit may take a small share
of the time only; what has to be told downstream is told in between.
"""

import math
from collections import deque

TAKEN_SHARE_MAX = 0.05
"""Of a task's time, by commits."""
COMMITS = 3
"""The quickest of so many counts: what a busy moment or a cold start adds to one of them is no property of the way."""


class CommitTimes:
    """Of one task. `begun` when something happened that must be committed, `told` and `committed` when that is done.

    `stretched_s_max`: how long a transaction may last with its commit, if that is more than `interval_s`.
    `tells`: whether anybody waits for what is told between commits.
    """

    def __init__(self, interval_s: float, *, stretched_s_max: float, tells: bool = True) -> None:
        self._shortest_s = interval_s
        self._told_every_s = interval_s if tells else math.inf
        self._stretched_s_max = stretched_s_max
        self._took_s: deque[float] = deque(maxlen=COMMITS)
        self._commit_at_s = 0.0
        self._tell_at_s = 0.0

    @property
    def interval_s(self) -> float:
        """From the first thing that must be committed to the commit."""
        if len(self._took_s) < COMMITS:
            return self._shortest_s
        wanted_s = min(self._took_s) / TAKEN_SHARE_MAX
        return max(self._shortest_s, min(wanted_s, self._stretched_s_max - max(self._took_s)))

    def begun(self, *, now_s: float) -> None:
        """A transaction has begun."""
        self._commit_at_s = now_s + self.interval_s
        self._tell_at_s = now_s + self._told_every_s

    def told(self, *, now_s: float) -> None:
        """All that others must hear was written, without a commit."""
        self._tell_at_s = now_s + self._told_every_s

    def committed(self, took_s: float) -> None:
        """A commit took so long."""
        self._took_s.append(took_s)

    def wait_s(self, *, now_s: float) -> float:
        """Until the next thing is due."""
        return max(0.0, min(self._commit_at_s, self._tell_at_s) - now_s)

    def is_due(self, *, now_s: float) -> bool:
        """Whether it is time to commit."""
        return now_s >= self._commit_at_s

    def must_tell(self, *, now_s: float) -> bool:
        """Whether it is time to tell others what they wait for."""
        return now_s >= self._tell_at_s
