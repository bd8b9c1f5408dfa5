"""Hosts, plans and moves as the registry tells of them. A test says what it is about; the rest is filled in."""

from collections.abc import Mapping
from typing import Any, TypeVar

from topics.messages import CommittedPlan, HostRegistration, MoveRecord

SomePlan = TypeVar("SomePlan", bound=CommittedPlan)


def registration(name: str, **about: Any) -> HostRegistration:
    rest: dict[str, Any] = {"region": "r", "capacity": 1, "address": "x", "boot_id": "1", "started_ms": 0}
    return HostRegistration(host=name, **rest | about)


def committed_plan(flow: str, hosts: Mapping[str, str], **about: Any) -> CommittedPlan:
    return plan_of(CommittedPlan, flow, hosts, **about)


def plan_of(kind: type[SomePlan], flow: str, hosts: Mapping[str, str], **about: Any) -> SomePlan:
    rest: dict[str, Any] = {
        "revision": 1,
        "epoch": 1,
        "hash": "h",
        "moves": (),
        "cost_ms": 1.0,
        "latency_ms": 1.0,
        "reason": "test",
        "leader": "a",
        "term": 1,
        "decided_ms": 1,
        "basis": {},
    }
    return kind(flow=flow, hosts=dict(hosts), **rest | about)


def move_record(flow: str, segment: str, **about: Any) -> MoveRecord:
    rest: dict[str, Any] = {
        "move": "m",
        "partition": 0,
        "epoch": 1,
        "origin": "b",
        "target": "a",
        "phase": "done",
        "proposed_ms": 0,
        "since_ms": 1,
        "reason": "test",
    }
    return MoveRecord(flow=flow, segment=segment, **rest | about)
