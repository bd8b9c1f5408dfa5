"""The rules of what a placement costs: the queueing model, the social price, reuse, the overlay."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from placement.evaluator_pricing import price_on_host
from placement.model.graph import FlowGraph
from placement.model.host import Host
from placement.model.overlay import Matrix, OverlayNetwork, sparse_neighbours
from placement.queueing import UTILISATION_CAP, Load, Stream, departure_ca2, wait_ms
from tests.unit.rules.rule import Rule, instead

QUEUEING, GRAPH, EVALUATOR, NETWORKS = (
    f"unit/placement_model/test_{what}.py::test_" for what in ("queueing", "flow_graph", "evaluator", "networks")
)


def _waiting(other: Callable[[Load, float], float]) -> Callable[[pytest.MonkeyPatch], None]:
    """Another wait than that of eq 9."""

    def remove(patch: pytest.MonkeyPatch) -> None:
        instead(patch, wait_ms, lambda load, cap=UTILISATION_CAP: other(load, cap))

    return remove


def _as_one_stream(load: Load, cap: float) -> float:
    return wait_ms(load._replace(rate_squares=load.rate_per_ms**2), cap)


def _as_regular_as_poisson(load: Load, cap: float) -> float:
    return wait_ms(load._replace(burst=load.rate_per_ms), cap)


def _as_in_m_m_1(load: Load, _: float) -> float:
    return load.rho / (1.0 - load.rho) * load.rho / load.rate_per_ms


def _with_another_mean(load: Load, cap: float) -> float:
    """The root of the mean square of service times in the place of their mean."""
    squares = load.square * load.rate_per_ms / load.rho**2
    return wait_ms(load._replace(burst=load.rate_per_ms + (load.burst - load.rate_per_ms) * squares), cap)


def _same_capacity(patch: pytest.MonkeyPatch) -> None:
    load = Stream.load
    patch.setattr(Stream, "load", lambda self, capacity: load(self, 1.0))


def _unsocial(patch: pytest.MonkeyPatch) -> None:
    instead(patch, price_on_host, lambda *what: price_on_host(*what)._replace(impact_ms=0.0))


def _all_are_neighbours(hosts: tuple[Host, ...], _: Matrix) -> tuple[tuple[int, ...], ...]:
    every = range(len(hosts))
    return tuple(tuple(other for other in every if other != host) for host in every)


def _without_regions(hosts: tuple[Host, ...], delays_ms: Matrix) -> tuple[tuple[int, ...], ...]:
    return sparse_neighbours(tuple(replace(host, region="") for host in hosts), delays_ms)


def _walked_ms(network: OverlayNetwork) -> Matrix:
    """The shortest walk over others in the place of the direct delay."""
    delays_ms = np.array(network.delay_rows_ms)
    for via in range(len(delays_ms)):
        delays_ms = np.minimum(delays_ms, delays_ms[:, via, None] + delays_ms[None, via, :])
    return delays_ms


RULES = (
    Rule(
        "eq 3: a task behind a batch runs as often as that has messages",
        f"{GRAPH}a_segments_service_counts_each_task_as_often_as_it_runs",
        lambda patch: patch.setattr(FlowGraph, "_factor", lambda self, edge: edge.share),
    ),
    Rule(
        "eq 4: the service time of several flows is their mean weighted by rate",
        f"{QUEUEING}the_short_form_of_the_wait_is_equation_9",
        _waiting(_with_another_mean),
    ),
    Rule(
        "eqs 6-8: flows that meet are aggregated (Whitt)",
        f"{QUEUEING}the_short_form_of_the_wait_is_equation_9",
        _waiting(_as_one_stream),
    ),
    Rule(
        "eq 9: waits grow with the variation of arrivals",
        f"{QUEUEING}the_short_form_of_the_wait_is_equation_9",
        _waiting(_as_regular_as_poisson),
    ),
    Rule(
        "eq 9: waits grow with the variation of services",
        f"{QUEUEING}constant_service_waits_half_as_long",
        _waiting(_as_in_m_m_1),
        {"rho": 0.5},
    ),
    Rule(
        "latency counts the wait",
        f"{EVALUATOR}two_hosts_in_a_row_are_two_queues_and_the_way_between",
        _waiting(lambda load, cap: 0.0),
    ),
    Rule(
        "latency counts the service",
        f"{EVALUATOR}two_hosts_in_a_row_are_two_queues_and_the_way_between",
        lambda patch: patch.setattr(Stream, "path_work", 0.0),
    ),
    Rule(
        "links are servers too",
        f"{NETWORKS}each_wire_on_the_way_adds_queue_and_transmission",
        lambda patch: patch.setattr("placement.evaluator_travel.link_wait_ms", lambda load, cap: 0.0),
    ),
    Rule(
        "rho is the sum of lambda S / capacity, and 1 VWU is 1 ms at capacity 1",
        f"{QUEUEING}capacity_divides_service_and_utilisation",
        _same_capacity,
    ),
    Rule(
        "a host refuses at 0.98",
        f"{QUEUEING}a_server_at_its_cap_refuses",
        _waiting(lambda load, _: wait_ms(load, math.inf)),
    ),
    Rule(
        "what leaves a server has ca2 = rho^2 cs2 + (1 - rho^2) ca2",
        f"{QUEUEING}a_busy_server_shapes_what_leaves_it",
        lambda patch: instead(patch, departure_ca2, lambda rho, cs2, ca2: ca2),
    ),
    Rule(
        "improvement 5: what a newcomer adds to the flows already there counts, n * delta Q",
        f"{EVALUATOR}the_social_price_is_what_the_streams_already_there_wait_more",
        _unsocial,
    ),
    Rule(
        "reuse adds load only downstream of the tap",
        f"{GRAPH}tapping_a_task_idles_only_what_feeds_nothing_else",
        lambda patch: patch.setattr(
            FlowGraph, "needed", lambda self, tapped: frozenset(range(self.task_count)) - tapped
        ),
    ),
    # The overlay.
    Rule(
        "hosts of different regions are neighbours only if no third is nearer to both",
        f"{NETWORKS}overlay_neighbours_are_the_region_and_pairs_with_nobody_between",
        lambda patch: instead(patch, sparse_neighbours, _all_are_neighbours),
    ),
    Rule(
        "all hosts of a region are neighbours",
        f"{NETWORKS}overlay_neighbours_are_the_region_and_pairs_with_nobody_between",
        lambda patch: instead(patch, sparse_neighbours, _without_regions),
    ),
    Rule(
        "between two chosen hosts the direct delay counts, not the sum of the walk",
        f"{NETWORKS}an_overlay_edge_costs_the_direct_delay",
        lambda patch: patch.setattr(OverlayNetwork, "delays_ms", property(_walked_ms)),
    ),
)
