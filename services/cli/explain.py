"""`stigmergy explain`: why each part of a flow runs where it does, what else was found, and how well it was told."""

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from services.cli.cluster import BootstrapOption, cluster_of
from services.cli.flow_ends import End, flow_ends, live_regions
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.cli.tally import OperatorLine
from services.cli.to_move import to_move
from services.cli.top import measure
from services.registry.asking import flow_decisions
from services.registry.changes import flow_of
from services.registry.pauses import predicted_pause_ms
from services.registry.sharing_words import shared_lines
from services.registry.snapshot import read_registry
from services.registry.told_latency import DEBT, told_latency
from services.registry.view import RegistryView
from topics import catalogue
from topics.flow.file import parse_graph
from topics.flow.problems import FlowError
from topics.messages import Decision

app = typer.Typer()


@app.command()
def explain(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Explain where a flow runs: why here, what else scouts reported and why it lost, predicted against measured."""
    cluster = cluster_of(bootstrap, home)
    address = cluster.bootstrap
    view = read_registry(address, catalogue.DECISIONS, catalogue.MOVES, catalogue.PROPOSALS)
    flow_of(view, flow)
    values = explanation(view, flow, measure(address, flow=flow)[0], live_regions(cluster, view))
    if as_json:
        print_json(values)
    else:
        _show(values)


def explanation(view: RegistryView, flow: str, lines: list[OperatorLine], regions: Mapping[str, str]) -> dict[str, Any]:
    """All that is known of a flow's placement. `regions`: of each live host."""
    plan = view.plans.get(flow)
    decisions = flow_decisions(view, flow)
    measured = [line.latency_ms_p50 for line in lines if line.latency_ms_p50 is not None]
    told = next(filter(None, map(told_latency, reversed(decisions))), None)
    return {
        "flow": flow,
        "policy": policy.policy if (policy := view.policies.get(("flow", flow))) is not None else "as its file says",
        "plan": plan.hash if plan is not None else None,
        "reason": plan.reason if plan is not None else None,
        "basis": plan.basis if plan is not None else {},
        "predicted_latency_ms": told.latency_ms if told is not None else None,
        "predicted_by_model_ms": told.model_ms if told is not None else None,
        "learnt_from_samples": told.samples if told is not None else 0,
        "learnt_spread_ms": told.spread_ms if told is not None else None,
        "predicted_at_last_segment_ms": max(0.0, told.latency_ms - told.beyond_ms) if told is not None else None,
        "measured_latency_ms_p50": max(measured, default=None),
        "predicted_pause_ms": predicted_pause_ms(view),
        "shared": shared_lines(view, flow),
        "to_move": to_move(plan, view.proposals.get(flow), decisions),
        "ends": _ends(view, flow, regions),
        "segments": [_segment(view, flow, segment, lines) for segment in _segments(view, flow)],
        "alternatives": list(plan.alternatives) if plan is not None else [],
        "ants_owed_until_ms": _owed_until_ms(decisions),
        "last_decision": decisions[-1] if decisions else None,
    }


def _owed_until_ms(decisions: Sequence[Decision]) -> int | None:
    """Until when the flow's leader sends no ants without need, by its newest word; None if it is not in debt."""
    said = next((each for each in reversed(decisions) if each.kind in ("kept", "planned")), None)
    debt_s = said.evidence.get(DEBT) if said is not None else None
    return said.decided_ms + round(debt_s * 1e3) if said is not None and isinstance(debt_s, float | int) else None


def _ends(view: RegistryView, flow: str, regions: Mapping[str, str]) -> list[End]:
    """Where its sources and sinks stand; nothing while no host lives, or if a later version wrote the flow."""
    try:
        return list(flow_ends(parse_graph(view.flows[flow].text).spec, regions, view.hosts)) if regions else []
    except FlowError:
        return []


def _segments(view: RegistryView, flow: str) -> list[str]:
    placed = {segment for (segment, _), each in view.placements.items() if each.flow == flow and each.host is not None}
    return sorted(placed)


def _segment(view: RegistryView, flow: str, segment: str, lines: list[OperatorLine]) -> dict[str, Any]:
    plan = view.plans.get(flow)
    slots = {slot: each for slot, each in sorted(view.placements.items()) if slot[0] == segment and each.host}
    operators = next(iter(slots.values())).operators
    wanted = plan.hosts.get(segment) if plan is not None else None
    here = sorted({str(each.host) for each in slots.values()})
    lost = [each for each in (plan.alternatives if plan is not None else ()) if segment in each.hosts]
    if plan is None:
        why = "it was put here by hand or by stigmergy run: the flow has no plan"
    elif view.flows[flow].state == "withdrawn":
        why = "the flow is withdrawn, but others read this"
    elif [wanted] == here:
        why = f"plan {plan.hash}: {plan.reason}"
    else:
        why = f"plan {plan.hash} wants it at {wanted}; a person, a lost host, a move under way or not made put it here"
    return {
        "segment": segment,
        "operators": operators,
        "hosts": here,
        "why": why,
        "alternatives": [
            {"host": each.hosts[segment], "latency_ms": each.latency_ms, "why_not": each.lost_because} for each in lost
        ],
        "to_move": f"stigmergy move {flow} {operators[0]} HOST",
        "latency_ms_p50": max(
            (line.latency_ms_p50 for line in lines if line.operator in operators and line.latency_ms_p50 is not None),
            default=None,
        ),
    }


def _learnt(values: dict[str, Any]) -> str:
    """What of a prediction is the model's, and what was learnt where the flow runs."""
    excess_ms = values["predicted_latency_ms"] - values["predicted_by_model_ms"]
    count, spread_ms = values["learnt_from_samples"], values["learnt_spread_ms"]
    if not count and not excess_ms:
        return ", by the model alone: nothing was measured there yet"
    learnt = f"{excess_ms:+.1f} ms as {'measured' if count else 'learnt where it ran before'}"
    samples = f" from {count} samples, half of them within {spread_ms:.1f} ms" if count else ""
    return f" (the model alone: {values['predicted_by_model_ms']:.1f} ms; {learnt}{samples})"


def _show(values: dict[str, Any]) -> None:
    console.print(Text(values["flow"], "bold"), f"policy: {values['policy']}")
    if values["plan"] is not None:
        basis = ", ".join(f"{name} {each}" for name, each in sorted(values["basis"].items()))
        console.print(f"plan {values['plan']}: {values['reason']} ({basis or 'no basis told'})", soft_wrap=True)
        measured, predicted = values["measured_latency_ms_p50"], values["predicted_latency_ms"]
        if predicted is not None:
            console.print(
                f"latency: predicted {predicted:.1f} ms to the sinks{_learnt(values)}; to the end of the last segment "
                f"predicted {values['predicted_at_last_segment_ms']:.1f} ms, "
                f"measured {f'{measured:.1f} ms (median)' if measured is not None else 'not yet'}",
                soft_wrap=True,
            )
    for line in values["shared"]:
        console.print(f"  {line}", soft_wrap=True)
    for end in values["ends"]:
        console.print(Text(f"  {end.name} at {end.host}: {end.told}"), soft_wrap=True)
    for segment in values["segments"]:
        name = f"{', '.join(segment['operators'])} on {', '.join(segment['hosts'])}"
        console.print(Text.assemble(("  ", ""), (name, "bold"), f": {segment['why']}"), soft_wrap=True)
        for each in segment["alternatives"]:
            console.print(f"    not {each['host']} ({each['latency_ms']:.1f} ms): {each['why_not']}", soft_wrap=True)
        console.print(f"    to move it by hand: {segment['to_move']}", soft_wrap=True)
    console.print(f"what it would take to move: {values['to_move'].sentence}", soft_wrap=True)
    console.print(f"a move would pause each partition for about {values['predicted_pause_ms']:.0f} ms")
    if values["ants_owed_until_ms"] is not None:
        until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(values["ants_owed_until_ms"] / 1e3))
        console.print(
            f"its ants cost more than its data have paid for: without need none leave before {until}", soft_wrap=True
        )
    last = values["last_decision"]
    if last is not None:
        console.print(f"last decision: {last.kind}, {last.what}: {last.why}", soft_wrap=True)
