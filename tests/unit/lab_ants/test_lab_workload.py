"""Figure 4 compares sizes of networks, so all of them get the same work."""

from dataclasses import replace

from placement.model import Flow
from services.lab.experiments.scale import QUERIES, workload

SMALL = [f"s{k}" for k in range(190)]
LARGE = [f"s{k}" for k in range(570)]


def without_hosts(flow: Flow) -> Flow:
    sources = tuple(replace(source, host="") for source in flow.sources)
    return replace(flow, sources=sources, sinks=tuple(replace(sink, host="") for sink in flow.sinks))


def ends(flow: Flow) -> list[str]:
    return [end.host for end in (*flow.sources, *flow.sinks)]


def test_networks_of_all_sizes_get_the_same_queries() -> None:
    """Else a heavier workload on 200 hosts than on 600 could pass for what the size does."""
    small, large = workload(SMALL, 7), workload(LARGE, 7)
    assert QUERIES == len(small)
    assert [without_hosts(flow) for flow in small] == [without_hosts(flow) for flow in large]


def test_a_query_has_its_ends_at_the_same_places_of_a_larger_network() -> None:
    """As near to each other, that is. Where two of a query's ends meet in one network only, the later ones differ."""
    apart = [
        abs(SMALL.index(a) / len(SMALL) - LARGE.index(b) / len(LARGE)) > 1 / len(SMALL)
        for one, other in zip(workload(SMALL, 7), workload(LARGE, 7), strict=True)
        for a, b in zip(ends(one), ends(other), strict=True)
    ]
    assert sum(apart) < len(apart) / 20


def test_the_ends_of_a_query_are_different_hosts_even_where_there_are_few() -> None:
    """The smallest network that a user may give has three."""
    assert all(len(set(ends(flow))) == len(ends(flow)) for flow in workload(["a", "b", "c"], 7))


def test_seeds_have_workloads_of_their_own() -> None:
    assert workload(SMALL, 7) != workload(SMALL, 8)
