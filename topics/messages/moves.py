"""Moves: one partition of one segment on its way from one host to another, and what hosts say to each other then."""

from typing import Literal

from topics.messages.base import Amount, Count, Message, Name, Positive, Text, TimeMs

MovePhase = Literal[
    "proposed",
    "warming",
    "draining",
    "fencing",
    "catching_up",
    "releasing",
    "done",
    "returning",
    "rolled_back",
    "abandoned",
]


class MoveRecord(Message, frozen=True, kw_only=True):
    """How far one move is. The placement instance that becomes active goes on from here.

    `epoch`: that of the placement which the move began with; `since_ms`: when this phase began. The pause is the time
    for which nobody processed the partition; `unread_changes` of its state the target had still to read when the
    partition was handed over. `followed`: the target followed it before the move, and goes on if that is given up.
    """

    move: Name
    flow: Name
    segment: Name
    partition: Count
    epoch: Positive
    origin: Name
    target: Name
    phase: MovePhase
    proposed_ms: TimeMs
    since_ms: TimeMs
    reason: Text
    plan: Name | None = None
    request: Name | None = None
    predicted_pause_ms: Amount | None = None
    paused_ms: TimeMs | None = None
    actual_pause_ms: Amount | None = None
    trouble: Text | None = None
    unread_changes: Count | None = None
    followed: bool = False


class Handover(Message, frozen=True, kw_only=True):
    """The former owner's word: it has drained and committed all that it began in this `epoch`; the next may fence.

    `stopped_ms`: when it had processed its last record; None if it was not at work.
    """

    segment: Name
    partition: Count
    epoch: Positive
    host: Name
    drained_ms: TimeMs
    stopped_ms: TimeMs | None = None


class StandbyStatus(Message, frozen=True, kw_only=True):
    """How well a host follows a partition that another one owns.

    `lag`: changes of its state that it has not yet read; `is_ready` when it could take over at once.
    """

    segment: Name
    partition: Count
    host: Name
    is_ready: bool
    lag: Count
    entries: Count
    reported_ms: TimeMs
