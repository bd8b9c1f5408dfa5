"""What it would take to move a flow, in figures: what it costs, the best other place known, and what that lacks. Pure.

A leader moves a flow when another place, times the factor beta, is still cheaper than where it runs, and cheaper by
more than can be measured (placement/leader_damping.py). Costs are a leader's: latency by weight, with what the flow
costs others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement.leader_damping import AT_HOME
from placement.leader_params import LIVE_LEADER
from services.host.cell.flow_model import BETA
from topics.messages import CommittedPlan, Decision, ProposedPlan


@dataclass(frozen=True, slots=True)
class ToMove:
    """`needed_cost_ms` is what another place may cost at most; `missing_ms` by how much the best known one is dearer.

    `best_from` says who found that place, and `best_hosts` where it is, if that is known.
    """

    now_cost_ms: float | None
    factor: float
    least_gain_ms: float
    needed_cost_ms: float | None
    best_cost_ms: float | None
    best_from: str | None
    best_hosts: Mapping[str, str] | None
    missing_ms: float | None
    why_not: str | None

    @property
    def sentence(self) -> str:
        """For people."""
        if self.now_cost_ms is None or self.needed_cost_ms is None:
            return "no ants have told yet what it costs here"
        need = (
            f"it costs {self.now_cost_ms:.1f} ms here; another place must cost less than {self.needed_cost_ms:.1f} ms "
            f"(better by the factor {self.factor:g} and by {self.least_gain_ms:g} ms)"
        )
        if self.best_cost_ms is None or self.missing_ms is None:
            return f"{need}; no other place is known"
        where = f" ({', '.join(sorted(set(self.best_hosts.values())))})" if self.best_hosts else ""
        best = f"the best one known{where}, by {self.best_from}, costs {self.best_cost_ms:.1f} ms"
        if self.missing_ms > 0:
            return f"{need}; {best}: {self.missing_ms:.1f} ms too much"
        return f"{need}; {best}: cheap enough{f', but {self.why_not}' if self.why_not else ''}"


def to_move(plan: CommittedPlan | None, proposal: ProposedPlan | None, decisions: Sequence[Decision]) -> ToMove:
    """By the newest that a leader has said of the flow; `decisions` in order."""
    said = next((each for each in reversed(decisions) if each.kind in ("kept", "proposed", "planned")), None)
    now_ms = best_ms = None
    best_from: str | None = None
    hosts: Mapping[str, str] | None = None
    if said is not None and said.kind == "planned":
        now_ms = _number(said, "cost_ms")
        found = plan.alternatives if plan is not None and plan.hash == said.plan else ()
        if other := min(found, key=lambda each: each.cost_ms, default=None):
            best_ms, best_from, hosts = other.cost_ms, f"the scouts of plan {said.plan}", other.hosts
    elif said is not None and said.kind == "proposed":
        now_ms, best_ms, best_from = _number(said, "now_cost_ms"), _number(said, "cost_ms"), f"proposal {said.plan}"
        hosts = proposal.hosts if proposal is not None and proposal.hash == said.plan else None
    elif said is not None:
        now_ms, best_from = _number(said, "now_cost_ms"), "the last ants"
        best_ms = _number(said, "best_cost_ms") if said.why != AT_HOME else None
    needed_ms = min(now_ms / BETA, now_ms - LIVE_LEADER.gain_ms_min) if now_ms is not None else None
    return ToMove(
        now_cost_ms=now_ms,
        factor=BETA,
        least_gain_ms=LIVE_LEADER.gain_ms_min,
        needed_cost_ms=max(0.0, needed_ms) if needed_ms is not None else None,
        best_cost_ms=best_ms,
        best_from=best_from if best_ms is not None else None,
        best_hosts=hosts,
        missing_ms=max(0.0, best_ms - needed_ms) if best_ms is not None and needed_ms is not None else None,
        why_not=said.why if said is not None and said.kind != "planned" else None,
    )


def _number(said: Decision, name: str) -> float | None:
    value = said.evidence.get(name)
    return float(value) if isinstance(value, float | int) else None
