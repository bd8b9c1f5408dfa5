"""Messages of the registry, as the bench of a cluster sees them."""

from services.lab.cluster.watch import Seen
from services.registry.decisions import decision
from tests.unit.registry_messages import committed_plan
from topics.messages import CommittedPlan, Decision, FlowRevision, Message, Placement, SegmentStatus


def seen(at_s: float, message: Message) -> Seen:
    return Seen(at_s, message)


def revision(flow: str) -> FlowRevision:
    return FlowRevision(flow=flow, revision=1, state="submitted", text="", delivery="at_least_once", changed_ms=1)


def plan(flow: str, **hosts: str) -> CommittedPlan:
    return committed_plan(flow, hosts)


def placed(segment: str, host: str | None, *, partition: int = 0, epoch: int = 1, flow: str = "f") -> Placement:
    return Placement(
        segment=segment,
        partition=partition,
        epoch=epoch,
        host=host,
        flow=flow,
        revision=1,
        operators=("o",),
        placed_ms=1,
        plan="h",
    )


def running(segment: str, host: str, *, partition: int = 0, epoch: int = 1, state: str = "running") -> SegmentStatus:
    return SegmentStatus(
        segment=segment,
        partition=partition,
        epoch=epoch,
        host=host,
        state=state,  # type: ignore[arg-type]
        since_ms=1,
        reported_ms=1,
        lag=0,
    )


def decided(kind: str, flow: str, *, why: str = "because", plan: str | None = None, **evidence: float) -> Decision:
    _, made = decision(kind, "what", why, by="p", now_ms=1, flow=flow, plan=plan, evidence=evidence)
    assert isinstance(made, Decision)
    return made
