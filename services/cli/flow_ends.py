"""Where a flow's sources and sinks stand, and why: what `submit` warns of, and `explain` tells."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from services.cli.cluster import Cluster
from services.host.cell.pins import Why, pin
from services.registry.liveness import live_hosts
from services.registry.view import RegistryView
from topics.flow.specs import FlowSpec


@dataclass(frozen=True, slots=True)
class End:
    """A source or sink. `host` is where placement takes it to stand; `told` says why, in words."""

    name: str
    at: str | None
    host: str
    why: Why
    told: str


def live_regions(cluster: Cluster, view: RegistryView) -> dict[str, str]:
    """The region of each live host."""
    live = live_hosts(cluster.bootstrap, silent_s=cluster.silent_s)
    return {name: view.hosts[name].region for name in sorted(live) if name in view.hosts}


def flow_ends(spec: FlowSpec, regions: Mapping[str, str], known: Mapping[str, object]) -> Iterator[End]:
    """All sources and sinks of a flow. `regions`: of each live host, at least one; `known`: all hosts that registered.

    The rule is the leader's own (pins.py), so what is told here is what is done.
    """
    named = [(f"source {source.name}", source.at) for source in spec.sources]
    named += [(f"sink {sink.name}", sink.at) for sink in spec.sinks]
    for name, at in named:
        host, why = pin(spec.name, at, regions)
        told = {
            "host": "the host that the flow names",
            "region": f"the first live host of region {at}",
            "chance": "chosen by the flow's name, since it has no at",
            "away": f"chosen by the flow's name, since {_stray(at or '', regions, known)}",
        }[why]
        yield End(name, at, host, why, told)


def end_warnings(spec: FlowSpec, regions: Mapping[str, str], known: Mapping[str, object]) -> list[str]:
    """One for each end whose `at` names nothing that lives; none while no host does."""
    ends = flow_ends(spec, regions, known) if regions else ()
    return [f"{end.name}: {_stray(end.at or '', regions, known)}" for end in ends if end.why == "away"]


def _stray(at: str, regions: Mapping[str, str], known: Mapping[str, object]) -> str:
    """What is wrong with an `at` that is neither a live host nor the region of one."""
    if at in known:
        return f"host {at!r} is not live now"
    near = difflib.get_close_matches(at, [*dict.fromkeys(regions.values()), *regions], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"at {at!r} is neither a live host nor a region ({', '.join(sorted(set(regions.values())))}){hint}"
