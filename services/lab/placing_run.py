"""One query placed in the simulator, told step by step: what `stigmergy simulate place` does."""

import math
from pathlib import Path
from random import Random

from placement.model import Problem
from placement.simulator.body import Body, Observer
from placement.simulator.queries import QueryParams, background_load, mixed_query
from placement.strategies import Exact, NoFeasibleHost
from placement.topology.transit_stub import TransitStubParams
from services.lab.chance import seeded
from services.lab.experiments.experiment import Trial
from services.lab.experiments.placing import RULES, still

_MOMENT_MS = 150.0
_LIMIT_MS = 120_000.0


class PlacingRun:
    """A network, a query and the ants; `go` places it and says what came of it."""

    def __init__(
        self, *, tasks: int, load: float, rules: str, seed: int, topology: Path | None, observer: Observer | None
    ) -> None:
        self.network, ends = Trial(seed, topology).network(TransitStubParams())
        rng = Random(f"{seed}/place")
        queries = QueryParams()
        self._background = [background_load(load, host.capacity, queries, rng=rng) for host in self.network.hosts]
        self._flow = mixed_query("query", tasks, ends, queries, rng=rng)
        ants, leaders = RULES[rules]
        self._body = Body(
            self.network,
            chance=seeded(seed),
            ants=ants,
            leaders=still(leaders),
            background=self._background,
            observer=observer,
        )
        self.moments: list[tuple[str, dict[tuple[str, str], float]]] = []
        """Pheromone towards the first sink, at some moments: link -> probability."""

    def go(self, *, moments: int) -> list[str]:
        """Place the query; lines for a person."""
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
        lines = [f"{len(self.network.hosts)} hosts, query of {len(self._flow.tasks)} tasks"]
        if math.isinf(latency_ms):
            return [*lines, "no placement found"]
        hosts = ", ".join(
            f"{task.name} at {body.leaders['query'].running[k]}" for k, task in enumerate(self._flow.tasks)
        )
        lines.append(f"placed after {body.kernel.now_ms - begun_ms:.0f} ms: {hosts}")
        lines.append(f"latency {latency_ms:.2f} ms{self._against_optimum(latency_ms)}")
        traffic = body.traffic
        lines.append(f"control messages: {traffic.total_hops} hops, {traffic.total_byte_hops / 1000:.0f} kB x hops")
        return lines

    def _against_optimum(self, latency_ms: float) -> str:
        problem = Problem(self.network, (self._flow,), background=tuple(self._background))
        try:
            best = Exact().place(problem, rng=Random(0))
        except NoFeasibleHost:
            return ""
        proof = "proven optimum" if best.proven else "best known, no proof"
        return f", {latency_ms / best.cost_ms:.4f} of the {proof} ({best.cost_ms:.2f} ms)"

    def _look(self, elapsed_ms: float) -> None:
        sink = self._flow.sinks[0].host
        strengths: dict[tuple[str, str], float] = {}
        for host, cell in sorted(self._body.cells.items()):
            vector = cell.pheromone.known(sink, now_ms=self._body.kernel.now_ms)
            if vector is not None and host != sink:
                strengths |= {(host, n): p for n, p in zip(vector.neighbours, vector.probabilities, strict=True)}
        self.moments.append((f"{elapsed_ms:.0f} ms", strengths))
