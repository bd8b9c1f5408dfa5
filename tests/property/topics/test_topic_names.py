"""Topic names: each thing has its own topic, also in the eyes of Kafka, which takes '.' and '_' for the same."""

from hypothesis import given
from hypothesis import strategies as st

from topics import names

FLOWS = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
WORDS = st.text("ab_-", min_size=1, max_size=6)
STREAMS = WORDS | st.tuples(WORDS, WORDS).map(".".join)
EDGES = st.tuples(FLOWS, STREAMS, WORDS, st.integers(0, 3))
TOPICS = (
    EDGES.map(lambda parts: ("edge", parts, names.edge_topic(*parts)))
    | st.tuples(FLOWS, WORDS).map(lambda parts: ("changelog", parts, names.changelog_topic(*parts)))
    | FLOWS.map(lambda flow: ("late", (flow,), names.late_topic(flow)))
    | FLOWS.map(lambda flow: ("dead letters", (flow,), names.dead_letter_topic(flow)))
)


@given(flow=FLOWS, stream=STREAMS, target=WORDS, port=st.integers(0, 31))
def test_an_edges_name_gives_back_its_parts(flow: str, stream: str, target: str, port: int) -> None:
    """Tools that list a cluster's topics tell which edge each one is."""
    topic = names.edge_topic(flow, stream, target, port)
    assert {"flow": flow, "stream": stream, "target": target, "port": str(port)} == names.parse(names.EDGE, topic)


@given(one=TOPICS, other=TOPICS)
def test_different_things_never_collide(one: tuple[str, object, str], other: tuple[str, object, str]) -> None:
    """Kafka refuses a topic whose name differs from another one's only in '.' and '_'."""
    if one[:2] != other[:2]:
        assert one[2].replace(".", "_") != other[2].replace(".", "_")


def test_edges_that_a_plain_dot_would_confuse_are_told_apart() -> None:
    """With a dot alone, a_b to c and a to b_c would be one name to Kafka; so would a.b, a route of a split."""
    topics = [
        names.edge_topic("f", "a_b", "c", 0),
        names.edge_topic("f", "a", "b_c", 0),
        names.edge_topic("f", "a.b", "c", 0),
    ]
    assert 3 == len({topic.replace(".", "_") for topic in topics})
