"""Where a segment may begin that reads what another flow writes."""

import pytest
from aiokafka import TopicPartition

from services.host.beginnings import FirstRecordsGoneError, check_beginnings
from services.host.segment import BROKEN
from services.host.segment_plan import plan_segment
from services.sharing.equality import tapped_edges
from tests.unit.sharing.talks import segment, talk, tap

SERVER, TAPPER = talk("f"), talk("g")
COUNTS = {"clicks": 4, "g-out": 4}
OWN, OTHER = "stig.flow.g.edge.counts.TO.totals.0", "stig.flow.f.edge.counts.TO.totals.0"


def test_a_tapped_edge_is_read_where_the_other_flow_writes_it() -> None:
    """With the same partitions and as many writers; nothing else changes."""
    edges = tapped_edges(TAPPER, SERVER, tap(TAPPER, SERVER))
    (alone,) = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS).inputs
    (served,) = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS, edges).inputs
    assert (OWN, None, OTHER, "f") == (alone.topic, alone.server, served.topic, served.server)
    assert (alone.name, alone.partitions, alone.upstream_partitions) == (
        served.name,
        served.partitions,
        served.upstream_partitions,
    )


def test_who_reads_another_flow_reads_all_of_it_or_nothing() -> None:
    """Records that were deleted before the first fetch would be lost in silence."""
    edges = tapped_edges(TAPPER, SERVER, tap(TAPPER, SERVER))
    inputs = plan_segment(TAPPER, segment(TAPPER, "totals"), COUNTS, edges).inputs
    check_beginnings(inputs, {TopicPartition(OTHER, 0): 0})
    with pytest.raises(FirstRecordsGoneError, match="from offset 7 on only"):
        check_beginnings(inputs, {TopicPartition(OTHER, 0): 0, TopicPartition(OTHER, 1): 7})
    assert FirstRecordsGoneError in BROKEN, "it does not pass by itself, so it parks soon, with these words"


def test_a_flows_own_topics_begin_where_they_begin() -> None:
    """A source keeps what its owner wants it to keep."""
    inputs = plan_segment(TAPPER, segment(TAPPER, "kept"), COUNTS).inputs
    check_beginnings(inputs, {TopicPartition("clicks", 0): 7})
