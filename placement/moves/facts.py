"""What a move must know of the world: what the registry says, and what hosts have told last."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Told:
    """The last word on the partition by a host that owns it, or did. `step`: what it is busy with while recovering."""

    host: str
    epoch: int
    state: str
    at_ms: int
    step: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """One look at the world.

    - `owner`, `epoch`: the registry's entry of the partition;
    - `told`: by whoever had the highest epoch;
    - `is_warm`: the target follows the partition and could take over at once;
    - `is_too_dear`: if it took over now, the partition would pause for longer than its flow allows;
    - `drained_epoch`: the highest epoch whose owner has said that it drained and committed;
    - `stopped_ms`: when that owner had processed its last record; None if it did not say;
    - `lost`: hosts that are gone;
    - `held_up_by`: why the schedule does not let it begin.
    """

    owner: str | None
    epoch: int
    told: Told | None
    is_warm: bool
    drained_epoch: int
    stopped_ms: int | None
    lost: frozenset[str]
    is_too_dear: bool = False
    held_up_by: str | None = None
