"""The parameters of the placement service."""

from dataclasses import dataclass, field

from placement.moves import MoveParams, PauseParams, ScheduleParams
from services.placement.drift import DriftParams
from services.registry.lease_keeper import LeaseParams
from services.settings import LOOPBACK, RETURN_S, SILENT_S

LEASE = "placement"
TRANSACTIONAL_ID = "stig.placement"
RECOUNT_S = 10.0
"""So often the active instance counts the partitions of source topics: one request for all flows."""


@dataclass(frozen=True, slots=True)
class PlacementParams:
    """Who the instance is, and how patient it is.

    - `silent_s_max`: a host that has reported nothing for so long is taken for lost;
    - `return_s_max`: when nobody was heard for that long, the others get so much more time to come back one by one;
    - `plan_patience_s`: how long a lost host's partitions wait for their leader's next plan;
    - `recovering_per_host_max`: a host gets no more lost partitions while so many are not yet running there;
    - `approval_age_s_max`: an older plan can't be approved; `drift`: nor one whose world has changed by so much;
    - `word_patience_s`: how long an approval waits for the flow to be read, and for its leader to say what the
      plan rests on by now.
    """

    name: str
    bootstrap: str
    port: int | None = None
    listen: str = LOOPBACK
    silent_s_max: float = SILENT_S
    return_s_max: float = RETURN_S
    plan_patience_s: float = 1.0
    recovering_per_host_max: int = 16
    approval_age_s_max: float = 900.0
    word_patience_s: float = 8.0
    drift: DriftParams = field(default_factory=DriftParams)
    lease: LeaseParams = field(default_factory=LeaseParams)
    moves: MoveParams = field(default_factory=MoveParams)
    schedule: ScheduleParams = field(default_factory=ScheduleParams)
    pause: PauseParams = field(default_factory=PauseParams)

    def __post_init__(self) -> None:
        assert self.silent_s_max > 1, "hosts report once a second"
        assert self.return_s_max >= 0, self
        assert self.plan_patience_s >= 0, self
        assert self.recovering_per_host_max > 0, self
