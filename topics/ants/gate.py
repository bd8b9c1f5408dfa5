"""The gate of a host: an envelope comes in only if it is genuine, for us, in time, and for the first time.

No replay gets through: within the age limit every (sender, boot, sequence) is remembered, beyond it nothing is let in,
and a gate that has just been built lets in nothing that was sent before, by its sender's clock: who is ahead of the
broker's by more than we were away could be replayed once. Nor does a replay look like a lag, which would silence the
leaders here (decision 350). Pure: time is an argument.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from topics.ants.envelope import Contents, Refusal, RefusedError, Travelling, unseal
from topics.catalogue import ANTS_ROUTING
from topics.errors import MessageError

WINDOW = 1_024
"""Sequence numbers that may overtake each other on their way; what is older than these counts as a replay."""


@dataclass(frozen=True, slots=True)
class GateParams:
    """What an envelope may look like."""

    age_max_ms: float = 30_000.0
    """From one host to the next. Clocks are the broker's, as each host has measured it."""
    early_max_ms: float = 2_000.0
    """How far ahead of ours a sender's idea of the time may be."""
    hops_max: int = 256
    """Of one ant, and of all that it sets off at cells, until a leader decides anew. Above the brain's own limits."""
    life_max_ms: float = 120_000.0
    """Likewise."""
    remembered_ms: float = 600_000.0
    """So long it is known what a silent sender has sent. What is older tells of no lag: nobody could say whether it has
    come before. The control topics keep less."""

    def __post_init__(self) -> None:
        if min(self.age_max_ms, self.early_max_ms, self.hops_max, self.life_max_ms) <= 0:
            raise ValueError(f"{self}: every limit must be above 0")
        if self.remembered_ms < self.age_max_ms:
            raise ValueError(f"{self}: what is let in must be remembered; give remembered_ms of age_max_ms or more")


@dataclass(slots=True)
class _Sender:
    """What one process has sent us: the newest sequence number, and which of the last WINDOW have come."""

    newest: int = -1
    come: int = 0
    last_ms: float = 0.0

    def is_new(self, sequence: int) -> bool:
        """Takes a number that has not come yet."""
        ahead = sequence - self.newest
        if ahead > 0:
            self.come = (self.come << min(ahead, WINDOW) | 1) & ((1 << WINDOW) - 1)
            self.newest = sequence
            return True
        if -ahead >= WINDOW or self.come >> -ahead & 1:
            return False
        self.come |= 1 << -ahead
        return True


@dataclass(slots=True)
class Gate:
    """Of the host `name`. `refused` counts what was not let in, by reason: envelopes, and single ants for TOO_FAR.

    `age_ms`: of the last genuine envelope that came for the first time, let in or too late for that.
    """

    name: str
    key: bytes
    opened_ms: float
    params: GateParams = field(default_factory=GateParams)
    refused: Counter[Refusal] = field(default_factory=Counter)
    age_ms: float = 0.0
    _senders: dict[tuple[str, str], _Sender] = field(default_factory=dict)

    def admit(self, value: bytes | None, *, topic: str, partition: int, offset: int, now_ms: float) -> Contents | None:
        """The contents of a record's value, without ants that have travelled too long; None if it is refused."""
        try:
            # All three topics carry the same message, with the same limit.
            envelope = ANTS_ROUTING.codec.decode(value, topic=topic, partition=partition, offset=offset)
            if envelope.target != self.name:
                raise RefusedError(Refusal.MISADDRESSED, f"for {envelope.target}")
            contents = unseal(envelope, key=self.key, topic=topic)
            is_first = self._is_first(contents, now_ms)
            if is_first and self._tells_of_lag(contents, now_ms):
                self.age_ms = now_ms - contents.sent_ms
            self._check_time(contents, now_ms)
            if not is_first:
                raise RefusedError(Refusal.REPLAYED, f"number {contents.sequence} of {contents.sender} has come before")
        except MessageError:
            self.refused[Refusal.UNREADABLE] += 1
            return None
        except RefusedError as refused:
            self.refused[refused.refusal] += 1
            return None
        young = tuple(each for each in contents.ants if self._is_young(each, now_ms))
        self.refused[Refusal.TOO_FAR] += len(contents.ants) - len(young)
        return replace(contents, ants=young)

    def _check_time(self, contents: Contents, now_ms: float) -> None:
        age_ms = now_ms - contents.sent_ms
        if age_ms < -self.params.early_max_ms:
            raise RefusedError(Refusal.TOO_EARLY, f"sent {-age_ms:.0f} ms ahead of our time")
        if age_ms > self.params.age_max_ms or contents.sent_ms < self.opened_ms:
            raise RefusedError(Refusal.TOO_OLD, f"sent {age_ms:.0f} ms ago")

    def _is_first(self, contents: Contents, now_ms: float) -> bool:
        """Whether it comes for the first time, as far as is remembered: also of what is too old to be let in."""
        forget_ms = now_ms - self.params.remembered_ms - self.params.early_max_ms
        for process in [process for process, seen in self._senders.items() if seen.last_ms < forget_ms]:
            del self._senders[process]
        sender = self._senders.setdefault((contents.sender, contents.boot_id), _Sender())
        if contents.sequence < 0 or not sender.is_new(contents.sequence):
            return False
        sender.last_ms = now_ms
        return True

    def _tells_of_lag(self, contents: Contents, now_ms: float) -> bool:
        """Of what was sent before this gate opened, or before all that is remembered, it does not."""
        return contents.sent_ms >= max(self.opened_ms, now_ms - self.params.remembered_ms)

    def _is_young(self, each: Travelling, now_ms: float) -> bool:
        return 0 <= each.hops <= self.params.hops_max and now_ms - each.born_ms <= self.params.life_max_ms
