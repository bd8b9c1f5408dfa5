"""Whatever happens to a pheromone vector, it stays a probability with a floor; cuts of flows cover every task once."""

import math
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from placement.pheromone import PheromoneParams, PheromoneVector
from placement.simulator.queries import QueryParams, Shape, random_query
from placement.subqueries import subqueries

HOPS = ("a", "b", "c", "d")
deeds = st.one_of(
    st.tuples(st.just("reinforce"), st.sampled_from(HOPS), st.floats(0.001, 1e4)),
    st.tuples(st.just("weaken"), st.sampled_from(HOPS), st.just(0.0)),
    st.tuples(st.just("lose"), st.sampled_from(HOPS), st.just(0.0)),
    st.tuples(st.just("meet"), st.sampled_from(HOPS), st.just(0.0)),
    st.tuples(st.just("wait"), st.just(""), st.floats(0.0, 1e7)),
    st.tuples(st.just("scent"), st.sampled_from(HOPS), st.floats(0.0, 50.0)),
)


@given(st.lists(deeds, max_size=60), st.floats(0.0, 0.5))
def test_probabilities_sum_to_one_and_keep_their_floor(history: list[tuple[str, str, float]], floor: float) -> None:
    """Ants draw from these numbers; a sum that drifts or a zero that sticks would bias every later choice."""
    vector = PheromoneVector(HOPS[:3], PheromoneParams(floor_share=floor), now_ms=0.0)
    now_ms = 0.0
    for deed, hop, number in history:
        if deed == "reinforce":
            vector.reinforce(hop, number, now_ms=now_ms)
        elif deed == "wait":
            now_ms += number
        elif deed == "scent":
            vector.scent({hop: number, "a": 1.0}, now_ms=now_ms)
        else:
            getattr(vector, deed)(hop)
        assert sorted(vector.neighbours) == vector.neighbours
        if vector.neighbours:
            assert math.isclose(1.0, math.fsum(vector.probabilities), abs_tol=1e-9)
            assert math.isclose(1.0, math.fsum(vector.faded(now_ms=now_ms)), abs_tol=1e-9)
            assert min(vector.probabilities) >= floor / len(vector.neighbours) - 1e-9
            assert vector.choose(Random(1), now_ms=now_ms, visited=HOPS[:2]) in vector.neighbours
        else:
            assert vector.choose(Random(1), now_ms=now_ms) is None


@given(st.integers(0, 10_000), st.integers(3, 12), st.sampled_from(Shape))
def test_chains_cover_a_flow_and_their_edges_add_up_to_its_paths(seed: int, tasks: int, shape: Shape) -> None:
    """If a chain missed a task or an edge, its cost would be missing from every report."""
    flow = random_query("q", tasks, shape, [f"h{k}" for k in range(9)], QueryParams(), rng=Random(seed))
    chains = subqueries(flow.graph)
    assert list(range(tasks)) == sorted(task for chain in chains for task in chain.tasks)
    priced = sum(sum(chain.shares) for chain in chains)
    priced += sum(pull.path_share for chain in chains for pulls in chain.pulls for pull in pulls if pull.exact)
    assert math.isclose(sum(edge.path_share for edge in flow.graph.edges), priced, rel_tol=1e-9)
