"""Plans for leaders: never worse, never for nothing, and never with other replicas than they need."""

from hypothesis import given
from hypothesis import strategies as st

from placement.leading import LeadingParams, LedPartition, delay_ms, plan_leaders

REGIONS = {1: "east", 2: "mid", 3: "west", 4: "north"}
PLACES = [*REGIONS.values(), "edge"]
PAIRS = [(a, b) for i, a in enumerate(sorted(PLACES)) for b in sorted(PLACES)[i + 1 :]]
PARAMS = LeadingParams()

trips = st.lists(st.floats(0.0, 300.0), min_size=len(PAIRS), max_size=len(PAIRS)).map(
    lambda values: dict(zip(PAIRS, values, strict=True))
)


@st.composite
def partitions(draw: st.DrawFn) -> LedPartition:
    replicas = tuple(draw(st.lists(st.sampled_from(sorted(REGIONS)), min_size=1, max_size=3, unique=True)))
    return LedPartition(
        "edge",
        draw(st.integers(0, 9)),
        replicas,
        draw(st.sampled_from(replicas)),
        ((draw(st.sampled_from(PLACES)), 0.75), (draw(st.sampled_from(PLACES)), 0.25)),
        draw(st.sampled_from(PLACES)),
        draw(st.floats(0.0, 1.0)),
    )


def tripper(matrix: dict[tuple[str, str], float]):
    return lambda a, b: 0.0 if a == b else matrix[min(a, b), max(a, b)]


@given(partitions(), trips)
def test_a_move_gains_what_it_says_and_the_next_plan_is_at_rest(at: LedPartition, matrix) -> None:
    """No oscillation: after the move nothing better is left."""
    trip = tripper(matrix)
    moves = plan_leaders([at], REGIONS, trip, PARAMS)
    for move in moves:
        assert move.now_ms - move.then_ms >= max(PARAMS.gain_ms_min, PARAMS.gain_share_min * move.now_ms)
        assert len(move.after) == len(set(move.after)) == len(at.replicas)
        assert len(set(move.after) - set(at.replicas)) <= 1
        after = LedPartition(
            at.topic, at.partition, move.after, move.after[0], at.writers, at.reader, at.batches_per_ms
        )
        assert abs(delay_ms(after, move.after[0], REGIONS, trip, PARAMS.hop) - move.then_ms) < 1e-6
        if len(at.replicas) == 1:
            assert [] == plan_leaders([after], REGIONS, trip, PARAMS)


@given(partitions(), trips)
def test_without_replicas_elsewhere_the_best_of_all_leads(at: LedPartition, matrix) -> None:
    """By trying every broker; what stays is within what a move must gain."""
    trip = tripper(matrix)
    alone = LedPartition(at.topic, at.partition, (at.leader,), at.leader, at.writers, at.reader, at.batches_per_ms)
    tried = {leader: delay_ms(alone, leader, REGIONS, trip, PARAMS.hop) for leader in REGIONS}
    leads = {move.after[0] for move in plan_leaders([alone], REGIONS, trip, PARAMS)} or {at.leader}
    (leader,) = leads
    assert tried[leader] - min(tried.values()) <= max(PARAMS.gain_ms_min, PARAMS.gain_share_min * tried[leader])


def test_a_partition_whose_leader_is_dead_is_left_to_kafka() -> None:
    """It elects one of the replicas; only then is there something to improve."""
    at = LedPartition("edge", 0, (9,), 9, (("east", 1.0),), "east")
    assert [] == plan_leaders([at], REGIONS, lambda a, b: 50.0, PARAMS)
