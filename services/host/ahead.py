"""What is fetched ahead on a host: of all its tasks together, so that many of them do not fill it with records.

Each task has a bound of its own (`inbox`). With hundreds of tasks, after an outage of the brokers say, that is more
than a host has. So what comes while the host is full is all but worked off before more is fetched for that task. Who
has nothing gets something also then, so no task waits for another.
"""

import math

AHEAD_SHARE = 0.25
"""Of the host's memory limit, for records that wait to be processed."""


class Ahead:
    """Counted for each block, when it is fetched and when it is processed. `bytes_max`: without a limit, no bound."""

    def __init__(self, memory_limit_bytes: int | None = None) -> None:
        self.bytes_max = math.inf if memory_limit_bytes is None else AHEAD_SHARE * memory_limit_bytes
        self.bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether tasks should work off what they have before they get more."""
        return self.bytes >= self.bytes_max
