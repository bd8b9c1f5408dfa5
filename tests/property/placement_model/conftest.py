"""Random small problems for the property tests: any network kind, any flow shape, with and without background."""

import math
import random
from collections.abc import Callable

import pytest

from placement.model import Edge, Flow, Host, Link, OverlayNetwork, Problem, RoutedNetwork, Sink, Source, Task
from placement.queueing import Stream

MakeProblem = Callable[[int], tuple[Problem, random.Random]]


def random_network(rng: random.Random, *, kind: str, bandwidth: float) -> RoutedNetwork | OverlayNetwork:
    """A connected network of 3 to 6 hosts."""
    count = rng.randint(3, 6)
    hosts = tuple(Host(f"h{i}", rng.choice((1.0, 2.0, 4.0)), region=f"r{i % 2}") for i in range(count))
    links = {(i, rng.randrange(i)) for i in range(1, count)} | {(2, 0)}
    routed = RoutedNetwork(
        hosts, tuple(Link(f"h{a}", f"h{b}", rng.uniform(0.5, 9), bandwidth) for a, b in sorted(links))
    )
    return routed if kind == "routed" else OverlayNetwork.sparse(hosts, routed.delays_ms, bandwidth)


def random_flow(rng: random.Random, name: str, hosts: int, identity: str = "") -> Flow:
    """A flow with fan-in, fan-out or a diamond, or a plain chain."""
    tasks = tuple(
        Task(
            f"t{i}",
            rng.uniform(0.5, 5),
            cs2=rng.choice((0.0, 0.5, 1.0, 2.0)),
            batch=rng.choice((1.0, 0.4, 1.6)),
            output_bytes=rng.uniform(50, 500),
            identity=identity if i == 1 else "",
        )
        for i in range(4)
    )

    def source(i: int) -> Source:
        return Source(f"in{i}", f"h{rng.randrange(hosts)}", rng.uniform(0.004, 0.02), rng.uniform(0.3, 2), 200.0)

    shapes: dict[str, tuple[tuple[tuple[str, str], ...], int, int]] = {
        "chain": ((("in0", "t0"), ("t0", "t1"), ("t1", "t2"), ("t2", "t3"), ("t3", "out0")), 1, 1),
        "fan-in": ((("in0", "t0"), ("in1", "t1"), ("t0", "t2"), ("t1", "t2"), ("t2", "t3"), ("t3", "out0")), 2, 1),
        "fan-out": ((("in0", "t0"), ("t0", "t1"), ("t1", "t2"), ("t1", "t3"), ("t2", "out0"), ("t3", "out1")), 1, 2),
        "diamond": ((("in0", "t0"), ("t0", "t1"), ("t0", "t2"), ("t1", "t3"), ("t2", "t3"), ("t3", "out0")), 1, 1),
    }
    edges, sources, sinks = shapes[rng.choice(sorted(shapes))]
    return Flow(
        name,
        tuple(source(i) for i in range(sources)),
        tasks,
        tuple(Sink(f"out{i}", f"h{rng.randrange(hosts)}") for i in range(sinks)),
        tuple(Edge(a, b) for a, b in edges),
        weight=rng.choice((1.0, 2.0)),
    )


def random_problem(seed: int) -> tuple[Problem, random.Random]:
    rng = random.Random(seed)
    bandwidth = rng.choice((math.inf, 40.0, 400.0))
    network = random_network(rng, kind=rng.choice(("routed", "overlay")), bandwidth=bandwidth)
    count = len(network.hosts)
    background = tuple(Stream(0.01, rng.uniform(0, 30), 1.0, rng.uniform(0.2, 2), 1.0).load(1.0) for _ in range(count))
    flows = tuple(random_flow(rng, f"f{i}", count, identity="same") for i in range(rng.randint(1, 4)))
    return Problem(network, flows, background=rng.choice(((), background))), rng


@pytest.fixture(scope="session")
def make_problem() -> MakeProblem:
    """Seed to a random problem and the generator that made it, for further draws."""
    return random_problem


@pytest.fixture(scope="session")
def make_flow() -> Callable[..., Flow]:
    """(generator, name, number of hosts) to a random flow."""
    return random_flow
