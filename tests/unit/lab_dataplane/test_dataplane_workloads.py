"""Every side is judged by the workloads' definition, so it must say what the flows do."""

from typing import Any

import msgspec
import pytest

from services.lab.bench_operators import packets
from services.lab.dataplane.workloads import COUNT_SUM, SCORE, WORKLOADS, Workload
from services.operators.run import FlowRun
from topics.flow.file import parse_graph


@pytest.mark.parametrize("workload", [*WORKLOADS, SCORE], ids=lambda workload: workload.name)
def test_a_workloads_flow_gives_what_its_definition_says(workload: Workload) -> None:
    """The audit compares other libraries' results with the definition; ours come from the flow."""
    raws = packets(3_000, seed=7)
    counts: dict[str, tuple[int, int]] = {}
    defined = [workload.result(msgspec.json.decode(raw), counts) for raw in raws]
    found: list[Any] = []
    flow = FlowRun(
        parse_graph(workload.flow("bench", source="in", sink="out")),
        lambda _, encoded: found.extend(map(msgspec.json.decode, encoded.values)),
    )
    flow.feed("packets", raws, now_ms=0)
    flow.close()
    assert [result for result in defined if result is not None] == found


def test_no_workload_needs_another_partitioning() -> None:
    """A re-key would add an edge topic to ours that no other side has."""
    for workload in WORKLOADS:
        assert 1 == len(parse_graph(workload.flow("bench", source="in", sink="out")).segments), workload.name


def test_the_count_goes_on_from_record_to_record() -> None:
    """Each record gives its source's count so far: a side that skips one is found out."""
    counts: dict[str, tuple[int, int]] = {}
    packet = {"src": "a", "bytes": 10}
    assert {"src": "a", "n": 1, "bytes": 10} == COUNT_SUM.result(packet, counts)
    assert {"src": "a", "n": 2, "bytes": 20} == COUNT_SUM.result(packet, counts)
    assert {"src": "b", "n": 1, "bytes": 5} == COUNT_SUM.result({"src": "b", "bytes": 5}, counts)
