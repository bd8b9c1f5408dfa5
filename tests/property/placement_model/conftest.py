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


Pairs = tuple[tuple[str, str], ...]

SHAPES: dict[str, tuple[Pairs, int, int]] = {
    "chain": ((("in0", "t0"), ("t0", "t1"), ("t1", "t2"), ("t2", "t3"), ("t3", "out0")), 1, 1),
    "fan-in": ((("in0", "t0"), ("in1", "t1"), ("t0", "t2"), ("t1", "t2"), ("t2", "t3"), ("t3", "out0")), 2, 1),
    "fan-out": ((("in0", "t0"), ("t0", "t1"), ("t1", "t2"), ("t1", "t3"), ("t2", "out0"), ("t3", "out1")), 1, 2),
    "diamond": ((("in0", "t0"), ("t0", "t1"), ("t0", "t2"), ("t1", "t3"), ("t2", "t3"), ("t3", "out0")), 1, 1),
    "joined diamond": (
        (
            *(("in0", "t0"), ("in1", "t2"), ("t0", "t1"), ("t2", "t3")),
            *(("t2", "t4"), ("t3", "t1"), ("t4", "t1"), ("t1", "out0")),
        ),
        2,
        1,
    ),
}
"""Name to edges, number of sources and of sinks."""


def random_flow(rng: random.Random, name: str, hosts: int, identity: str = "", shape: str = "") -> Flow:
    """A flow of that shape, or of any. Its tasks are numbered in any order: searches must not live on a kind one.

    A third of the flows is so heavy that a host has room for one or two of their tasks.
    """
    edges, sources, sinks = SHAPES[shape or rng.choice(sorted(SHAPES))]
    tasks = [
        Task(
            f"t{i}",
            rng.uniform(0.5, 5),
            cs2=rng.choice((0.0, 0.5, 1.0, 2.0)),
            batch=rng.choice((1.0, 0.4, 1.6)),
            output_bytes=rng.uniform(50, 500),
            identity=identity if i == 1 else "",
        )
        for i in range(1 + max(int(head[1:]) for _, head in edges if head.startswith("t")))
    ]
    rng.shuffle(tasks)
    heavy = rng.choice((1.0, 1.0, 10.0))

    def source(i: int) -> Source:
        rate_per_ms = heavy * rng.uniform(0.004, 0.02)
        return Source(f"in{i}", f"h{rng.randrange(hosts)}", rate_per_ms, rng.uniform(0.3, 2), 200.0)

    return Flow(
        name,
        tuple(source(i) for i in range(sources)),
        tuple(tasks),
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
