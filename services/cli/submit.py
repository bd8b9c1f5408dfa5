"""`stigmergy submit`: hands a flow to its leader and the placement service, and follows it until it runs."""

import time
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.text import Text

from services.cli.authority import require_placement
from services.cli.cluster import BootstrapOption, Cluster, cluster_of
from services.cli.exits import ExitCode
from services.cli.flow_ends import end_warnings, live_regions
from services.cli.flow_files import FlowFile, read_flow_file
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, errors, print_json, show_error
from services.registry.asking import POLL_S, flow_decisions, now_ms, recent_ms
from services.registry.changes import submitted
from services.registry.errors import RegistryError
from services.registry.sharing_words import shared_lines
from services.registry.snapshot import FollowedRegistry, followed_registry
from services.registry.submit import check_sources, make_sources, topic_partitions
from services.registry.view import CORE, RegistryView
from services.registry.write import write
from topics import catalogue
from topics.admin import connect
from topics.flow.graph import FlowGraph
from topics.flow.specs import Sink, Source
from topics.messages import FlowRevision

app = typer.Typer()

_WITHOUT_PLACEMENT = (
    "start one with stigmergy placement --name p1 (stigmergy up runs two), or place the flow without one: "
    "stigmergy run {file}. With --no-wait it is submitted all the same, and waits for one"
)


@app.command()
def submit(
    file: FlowFile,
    *,
    wait: Annotated[bool, typer.Option(help="Wait until it runs.")] = True,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait until it runs.")] = 60.0,
    make_topics: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="Create missing source topics, with this many partitions."),
    ] = None,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Submit a flow: ants find its place, the placement service carries it out. Waits until it runs."""
    cluster = cluster_of(bootstrap, home)
    address = cluster.bootstrap
    text, graph = read_flow_file(file)
    flow = graph.spec.name
    if wait:
        require_placement(address, patience_s=timeout_s, instead=_WITHOUT_PLACEMENT.format(file=file))
    created = _topics(address, graph, make_topics)
    if not as_json:
        for topic in created:
            console.print(f"created topic {topic}", markup=False, soft_wrap=True)
    with followed_registry(address, *CORE, catalogue.DECISIONS, decisions_since_ms=recent_ms()) as registry:
        view = registry.read()
        old = frozenset(view.decisions)
        entries = submitted(view, graph, text, {}, now_ms=now_ms())
        write(address, [entry for entry in entries if isinstance(entry[1], FlowRevision)])
        stray = _stray_ends(cluster, view, graph)
        for line in stray:
            errors.print(Text.assemble(("warning: ", "bold yellow"), line), soft_wrap=True)
        trouble = _wait(registry, flow, old, timeout_s=timeout_s) if wait else None
        view = registry.read()
    hosts = sorted({str(each.host) for each in view.placements.values() if each.flow == flow and each.host})
    if as_json:
        plan = view.plans.get(flow)
        print_json(
            {
                "flow": flow,
                "revision": view.flows[flow].revision,
                "running": trouble is None if wait else None,
                "trouble": trouble,
                "hosts": hosts,
                "plan": plan.hash if plan is not None else None,
                "shared": shared_lines(view, flow),
                "created_topics": created,
                "warnings": stray,
            }
        )
    elif trouble is not None:
        show_error(f"{flow} does not run: {trouble}", f"see stigmergy explain {flow} and stigmergy history {flow}")
    else:
        what = "; it ".join([f" runs on {', '.join(hosts)}" if wait else " is submitted", *shared_lines(view, flow)])
        console.print(Text.assemble(("✓ ", "bold green"), (flow, "bold"), what), soft_wrap=True)
    if trouble is not None:
        raise typer.Exit(ExitCode.FAILURE)


def _topics(address: str, graph: FlowGraph, partitions: int | None) -> tuple[str, ...]:
    """The source topics that had to be created. Raises RegistryError if one is missing, or not as the flow says."""
    admin = connect(address)
    try:
        counts = topic_partitions(admin)
        created = make_sources(admin, graph, counts, partitions) if partitions is not None else ()
    except KafkaException as fault:
        raise RegistryError(f"the topics could not be read or made: {fault.args[0].str()}") from fault
    check_sources(graph, counts)
    return created


def _stray_ends(cluster: Cluster, view: RegistryView, graph: FlowGraph) -> list[str]:
    """Warnings of `at`s that name nothing; hosts are asked who lives only if there is an `at`."""
    ends: list[Source | Sink] = [*graph.spec.sources, *graph.spec.sinks]
    if all(end.at is None for end in ends):
        return []
    return end_warnings(graph.spec, live_regions(cluster, view), view.hosts)


def _wait(registry: FollowedRegistry, flow: str, old: frozenset[str], *, timeout_s: float) -> str | None:
    """None when all of it runs; else why not. `old`: the decisions that were there before."""
    deadline_s = time.monotonic() + timeout_s
    with busy(f"ants look for a place for {flow}"):
        while time.monotonic() < deadline_s:
            view = registry.read()
            if is_running(view, flow):
                return None
            for decision in flow_decisions(view, flow):
                # A plan that is refused is followed by another one; a flow that is refused is not.
                if decision.kind == "refused" and decision.plan is None and decision.decision not in old:
                    return decision.why
            time.sleep(POLL_S)
    plan = view.plans.get(flow)
    if plan is None or plan.revision != view.flows[flow].revision:
        return "no leader has published a plan; are hosts up? See stigmergy hosts"
    if not any(each.flow == flow and each.host for each in view.placements.values()):
        return f"plan {plan.hash} waits; approve it with stigmergy approve {plan.hash}, or see stigmergy history"
    return "it is still starting; see stigmergy flows"


def is_running(view: RegistryView, flow: str) -> bool:
    """Whether all partitions of the newest revision run, as their owners say."""
    placed = {slot: each for slot, each in view.placements.items() if each.flow == flow and each.host is not None}
    revision = view.flows[flow].revision
    return bool(placed) and all(
        each.revision == revision
        and (told := view.statuses.get(slot)) is not None
        and (told.epoch, told.state) == (each.epoch, "running")
        for slot, each in placed.items()
    )
