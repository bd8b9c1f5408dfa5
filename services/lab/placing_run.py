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
    bound_ms: float | None = None
    """No placement is better; far too low where nothing is proven."""
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
        yield f"latency {self.latency_ms:.2f} ms{self._compared(self.latency_ms)}"
        yield f"control messages: {self.hops} hops, {(self.byte_hops or 0) / 1000:.0f} kB x hops"
        yield f"trace {self.trace}"

    def _compared(self, latency_ms: float) -> str:
        """With the optimum; without a proof, with the best that descents found and with what nothing is better than."""
        if not self.best_ms:
            return ""
        ratio = f", {latency_ms / self.best_ms:.4f} of"
        if self.best_is_proven:
            return f"{ratio} the proven optimum ({self.best_ms:.2f} ms)"
        bound = f"; no placement is below {self.bound_ms:.2f} ms" if self.bound_ms else ""
        return f"{ratio} the best that a search found ({self.best_ms:.2f} ms, not proven{bound})"


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
            told.best_ms, told.best_is_proven, told.bound_ms = best.cost_ms, best.proven, best.bound_ms
        return told

    def _look(self, elapsed_ms: float) -> None:
        sink = self._flow.sinks[0].host
        strengths: dict[tuple[str, str], float] = {}
        for host, cell in sorted(self._body.cells.items()):
            vector = cell.pheromone.known(sink, now_ms=self._body.kernel.now_ms)
            if vector is not None and host != sink:
                strengths |= {(host, n): p for n, p in zip(vector.neighbours, vector.probabilities, strict=True)}
        self.moments.append((f"{elapsed_ms:.0f} ms", strengths))
