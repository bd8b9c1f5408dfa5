"""One query placed in the simulator, told step by step: what `stigmergy simulate place` does."""

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from placement.model import Problem
from placement.simulator.body import Body, Observer
from placement.simulator.queries import QueryParams, background_load, mixed_query
from placement.simulator.trace import TraceHash, both
from placement.strategies import Exact, NoFeasibleHost
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Trial
from services.lab.experiments.placing import RULES, still
from services.lab.topologies import SEARCHED_HOSTS

_MOMENT_MS = 150.0
_LIMIT_MS = 120_000.0


@dataclass(slots=True)
class Told:
    """What came of it; None where nothing did."""

    hosts: int
    tasks: int
    placed_after_ms: float | None = None
    placement: dict[str, str] | None = None
    latency_ms: float | None = None
    best_ms: float | None = None
    best_is_proven: bool | None = None
    hops: int | None = None
    byte_hops: float | None = None
    trace: str | None = None
    """One word for all that happened, event by event: the same seed gives the same word."""

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield f"{self.hosts} hosts, query of {self.tasks} tasks"
        if self.placement is None or self.latency_ms is None:
            yield "no placement found"
            return
        hosts = ", ".join(f"{task} at {host}" for task, host in self.placement.items())
        yield f"placed after {self.placed_after_ms:.0f} ms: {hosts}"
        proof = "proven optimum" if self.best_is_proven else "best known, no proof"
        best = f", {self.latency_ms / self.best_ms:.4f} of the {proof} ({self.best_ms:.2f} ms)" if self.best_ms else ""
        yield f"latency {self.latency_ms:.2f} ms{best}"
        yield f"control messages: {self.hops} hops, {(self.byte_hops or 0) / 1000:.0f} kB x hops"
        yield f"trace {self.trace}"


class PlacingRun:
    """A network, a query and the ants; `go` places it and says what came of it."""

    def __init__(
        self, *, tasks: int, load: float, rules: str, seed: int, topology: Path | None, observer: Observer | None
    ) -> None:
        self.network, ends = Trial(seed, topology).network(TransitStubParams(), most_hosts=SEARCHED_HOSTS)
        rng = Random(f"{seed}/place")
        queries = QueryParams()
        self._background = [background_load(load, host.capacity, queries, rng=rng) for host in self.network.hosts]
        self._flow = mixed_query("query", tasks, ends, queries, rng=rng)
        ants, leaders = RULES[rules]
        self._trace = TraceHash()
        self._body = Body(
            self.network,
            chance=seeded(seed),
            ants=ants,
            leaders=still(leaders),
            background=self._background,
            observer=self._trace if observer is None else both(observer, self._trace),
        )
        self.moments: list[tuple[str, dict[tuple[str, str], float]]] = []
        """Pheromone towards the first sink, at some moments: link -> probability."""

    def go(self, *, moments: int) -> Told:
        """Place the query, and tell."""
        body = self._body
        body.acquaint()
        begun_ms = body.kernel.now_ms
        body.submit(self._flow)
        for _ in range(moments):
            self._look(body.kernel.now_ms - begun_ms)
            body.run_for(_MOMENT_MS)
        body.run_until_settled(limit_ms=_LIMIT_MS)
        if moments:
            self._look(body.kernel.now_ms - begun_ms)
        latency_ms = body.latency_ms("query")
        told = Told(hosts=len(self.network.hosts), tasks=len(self._flow.tasks))
        if math.isinf(latency_ms):
            return told
        told.placed_after_ms = round(body.kernel.now_ms - begun_ms, 3)
        told.placement = {task.name: body.leaders["query"].running[k] for k, task in enumerate(self._flow.tasks)}
        told.latency_ms = round(latency_ms, 6)
        told.trace = self._trace.digest()[:16]
        told.hops, told.byte_hops = body.traffic.total_hops, body.traffic.total_byte_hops
        problem = Problem(self.network, (self._flow,), background=tuple(self._background))
        with contextlib.suppress(NoFeasibleHost):
            best = Exact().place(problem, rng=Random(0))
            told.best_ms, told.best_is_proven = best.cost_ms, best.proven
        return told

    def _look(self, elapsed_ms: float) -> None:
        sink = self._flow.sinks[0].host
        strengths: dict[tuple[str, str], float] = {}
        for host, cell in sorted(self._body.cells.items()):
            vector = cell.pheromone.known(sink, now_ms=self._body.kernel.now_ms)
            if vector is not None and host != sink:
                strengths |= {(host, n): p for n, p in zip(vector.neighbours, vector.probabilities, strict=True)}
        self.moments.append((f"{elapsed_ms:.0f} ms", strengths))
