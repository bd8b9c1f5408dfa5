"""The brain's model of any flow: it is whole, and it says again what was measured.

The measured half plays a broker and a host: it chooses a rate for every source and a selectivity for every operator,
makes the rows that hosts would report, and expects to find its own numbers in the brain's graph.
"""

import math
from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from services.host.cell.flow_measures import measure_flow
from services.host.cell.flow_model import HANDLING_VWU, FlowModel, model_flow
from services.host.cell.pins import pin
from topics.flow.builder import Flow
from topics.flow.graph import FlowGraph, Segment
from topics.messages import Moments, OperatorMetrics

Flows = st.SearchStrategy[Flow]
MOST = settings(max_examples=60)
REGIONS = {"ant": "north", "bee": "north", "cat": "south"}
CAPACITIES = {"ant": 1.0, "bee": 2.0, "cat": 0.5}
SPAN_S = 10


@dataclass
class Truth:
    """What really happens in a flow in ten seconds: records of each stream, and each operator's time for a record."""

    streams: dict[str, int]
    service_ms: dict[str, float]


def draw_truth(data: st.DataObject, graph: FlowGraph) -> Truth:
    """Large counts, so that whole records do not blur the ratios."""
    streams = {source.name: data.draw(st.integers(1, 9)) * 10**9 for source in graph.spec.sources}
    service_ms = {}
    for operator in graph.operators:
        service_ms[operator.name] = data.draw(st.sampled_from([0.001, 0.01, 0.1]))
        arriving = sum(streams[edge.stream] for edge in graph.edges_into(operator.name))
        routes = [route for route, _ in operator.outputs]
        leaving = arriving * data.draw(st.sampled_from([1, 2, 5, 10])) // 5
        for route in routes:
            name = operator.name if route is None else f"{operator.name}.{route}"
            streams[name] = leaving // len(routes)
    return Truth(streams, service_ms)


def rows_of(graph: FlowGraph, truth: Truth) -> list[OperatorMetrics]:
    """One row for each operator, from hosts of unequal speed."""
    rows = []
    for segment in graph.segments:
        host = sorted(CAPACITIES)[len(segment.id) % 3]
        for name in segment.operators:
            arrivals = sum(truth.streams[edge.stream] for edge in graph.edges_into(name))
            outputs = sum(
                truth.streams[name if route is None else f"{name}.{route}"] for route, _ in graph.operator(name).outputs
            )
            mean_us = truth.service_ms[name] * 1e3 / CAPACITIES[host]
            rows.append(
                OperatorMetrics(
                    host=host,
                    flow=graph.spec.name,
                    segment=segment.id,
                    operator=name,
                    partition=0,
                    second=1_000,
                    arrivals=arrivals,
                    gaps_us=Moments(100, 100.0, 300.0),
                    batch=Moments(0, 0.0, 0.0),
                    service_us=Moments(100, 100 * mean_us, 100 * mean_us**2),
                    wait_us=Moments(0, 0.0, 0.0),
                    outputs=outputs,
                    lag=0,
                    bytes_in=70 * entering(segment, truth),
                    bytes_out=0,
                    state_bytes=0,
                    late=0,
                    dropped=0,
                    dead_letters=0,
                )
            )
    return rows


def entering(segment: Segment, truth: Truth) -> int:
    once = {edge.stream for edge in segment.inputs if edge.kind == "source"}
    every = [edge.stream for edge in segment.inputs if edge.kind != "source"]
    return sum(truth.streams[stream] for stream in [*once, *every])


def is_shared(graph: FlowGraph, stream: str) -> bool:
    """A source or a split's route that no operator reads alone: its records are counted together with others."""
    if stream not in dict(graph.sources) and "." not in stream:
        return False
    readers = {edge.target for edge in graph.edges if edge.stream == stream and edge.kind != "sink"}
    return not any({edge.stream for edge in graph.edges_into(reader)} == {stream} for reader in readers)


def numbers(model: FlowModel) -> set[tuple[str, str]]:
    found = {(source.name, field) for source in model.flow.sources for field in ("rate_per_ms", "ca2", "message_bytes")}
    tasks = ("service_vwu", "cs2", "batch", "output_bytes")
    return found | {(task.name, field) for task in model.flow.tasks for field in tasks}


@given(data=st.data())
@MOST
def test_every_flow_has_a_model_before_its_first_record(data: st.DataObject, flows: Flows) -> None:
    """A flow is placed before anything is known of it; the brain takes any shape that the compiler lets through."""
    graph = data.draw(flows).graph()

    model = model_flow(graph, REGIONS)

    assert [segment.id for segment in graph.segments] == [task.name for task in model.flow.tasks]
    assert {source.name for source in graph.spec.sources} == {source.name for source in model.flow.sources}
    assert {sink.name for sink in graph.spec.sinks} == {sink.name for sink in model.flow.sinks}
    assert len(graph.segments) == len(model.flow.graph.order)
    assert (graph.spec.qos.latency_ms or math.inf) == model.flow.latency_bound_ms
    assert numbers(model) == set(model.origins)
    assert {"default"} == set(model.origins.values())
    assert set(REGIONS) >= {end.host for end in (*model.flow.sources, *model.flow.sinks)}
    assert model == model_flow(graph, REGIONS)


@given(data=st.data())
@MOST
def test_the_model_says_again_what_was_measured(data: st.DataObject, flows: Flows) -> None:
    """Rates into every segment and work in it are those that the hosts saw, brought to a host of capacity 1."""
    graph = data.draw(flows).graph()
    truth = draw_truth(data, graph)
    measures = measure_flow(rows_of(graph, truth), CAPACITIES, span_s=SPAN_S)

    model = model_flow(graph, REGIONS, measures)

    guessed = {stream for stream in truth.streams if is_shared(graph, stream)}
    assume(not guessed)  # where nobody counts a stream by itself, the model has to guess
    for segment, into in zip(graph.segments, model.flow.graph.into, strict=True):
        entered = entering(segment, truth)
        assert entered / SPAN_S / 1e3 == pytest.approx(sum(edge.rate_per_ms for edge in into), rel=1e-6)
        work_ms = sum(
            truth.service_ms[name] * sum(truth.streams[edge.stream] for edge in graph.edges_into(name))
            for name in segment.operators
        )
        handled = entered + sum(truth.streams[edge.stream] for edge in segment.outputs)
        expected = (work_ms + HANDLING_VWU * handled) / entered
        (task,) = (task for task in model.flow.tasks if task.name == segment.id)
        assert expected == pytest.approx(task.service_vwu, rel=1e-6)
        assert {"measured"} == {model.origins[segment.id, field] for field in ("service_vwu", "cs2", "batch")}
    assert [70.0] * len(model.flow.sources) == pytest.approx([each.message_bytes for each in model.flow.sources])


@given(st.text(min_size=1), st.sampled_from(sorted(REGIONS)))
def test_the_death_of_one_host_moves_only_what_stood_there(flow: str, dead: str) -> None:
    """Rendezvous hashing: an end without `at` stays where it is while its host lives."""
    left = {host: region for host, region in REGIONS.items() if host != dead}
    before = pin(flow, None, REGIONS)
    after = pin(flow, None, left)

    assert (before.host == dead) or before == after
    assert after.host in left
