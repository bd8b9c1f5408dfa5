"""The catalogue: complete, consistent, and within what Kafka and our own promises allow."""

import gzip
import random
from pathlib import Path

import pytest

from services.embedded.furniture import DEMO_SOURCE
from topics import names
from topics.catalogue import (
    CATALOGUE,
    CHANGELOG,
    DEAD_LETTERS,
    EDGE,
    LATE,
    METRICS_OPERATORS,
    PLACEMENTS,
    RECORD_BYTES_MAX,
    SEGMENTS_STATUS,
    SNAPSHOTS,
    find,
    of_flow,
    shared,
)
from topics.messages import DeadLetter, Moments, OperatorMetrics, Origin, Placement, clip
from topics.page import PAGE, page
from topics.topic import Compacted, Topic, copies_on

SERVICES = Path(__file__).parents[3] / "services"


def test_every_template_of_names_is_one_row() -> None:
    """A topic that is named but not described would be created with a broker's defaults."""
    templates = [
        value
        for value in vars(names).values()
        if isinstance(value, str) and value.startswith("stig.") and value != "stig."
    ]
    assert sorted(templates) == sorted(topic.name for topic in CATALOGUE)


@pytest.mark.parametrize("topic", CATALOGUE, ids=lambda topic: topic.name)
def test_a_compacted_topic_has_a_key(topic: Topic) -> None:
    """Kafka refuses records without a key on a compacted topic. State is written under keys of the host's own."""
    if isinstance(topic.retention, Compacted) and topic not in (CHANGELOG, SNAPSHOTS):
        assert topic.key is not None


@pytest.mark.parametrize("topic", CATALOGUE, ids=lambda topic: topic.name)
def test_the_broker_accepts_the_largest_message_and_a_default_producers_batch(topic: Topic) -> None:
    """max.message.bytes bounds a whole batch, so a small limit would refuse batches of small messages."""
    parts = {
        part: "1" for part in ("flow", "stream", "target", "port", "operator", "segment") if f"{{{part}}}" in topic.name
    }
    declared = topic.declare(partitions=topic.partitions or 4, **parts)
    limit_bytes = int(declared.settings(copies=1)["max.message.bytes"])
    assert limit_bytes >= 1_048_588
    assert limit_bytes > topic.bytes_max + 512


@pytest.mark.parametrize("topic", [*CATALOGUE, DEMO_SOURCE], ids=lambda topic: topic.name)
def test_writers_and_readers_are_there(topic: Topic) -> None:
    """Who looks for them finds a folder of services; users write and read with clients of their own."""
    services = {folder.name for folder in SERVICES.iterdir() if (folder / "__init__.py").exists()}
    assert topic.written_by
    assert topic.read_by
    assert set() == {*topic.written_by, *topic.read_by} - services - {"users"}


def test_the_page_of_topics_tells_what_the_catalogue_says() -> None:
    """People read the page."""
    assert PAGE.read_text() == page(), "write it anew: python -m topics.page"


def test_keys_are_as_documented() -> None:
    """Compaction keeps one value for each key: writers of two versions must agree on the key."""
    placement = Placement(
        segment="talk.s1", partition=2, epoch=1, host=None, flow="talk", revision=1, operators=(), placed_ms=1
    )
    letter = dead_letter(b"")
    assert b"talk.s1/2" == PLACEMENTS.key_of(placement)
    assert b"packets/3/4711" == DEAD_LETTERS.key_of(letter)
    assert {
        "stig.flows": "{flow}",
        "stig.hosts": "{host}",
        "stig.placements": "{segment}/{partition}",
        "stig.segments.status": "{segment}/{partition}",
        "stig.plans": "{flow}",
        "stig.proposals": "{flow}",
        "stig.policies": "{subject}/{name}",
        "stig.requests": "{request}",
        "stig.decisions": "{decision}",
        "stig.leases": "{lease}",
        "stig.moves": "{move}",
        "stig.handovers": "{segment}/{partition}",
        "stig.standbys": "{segment}/{partition}/{host}",
        "stig.ants.routing": "{target}",
        "stig.ants.scouting": "{target}",
        "stig.ants.enforcement": "{target}",
        "stig.flow.{flow}.dead-letters": "{origin.topic}/{origin.partition}/{origin.offset}",
        "stig.flow.{flow}.late": "{origin.topic}/{origin.partition}/{origin.offset}",
        "stig.flow.{flow}.edge.{stream}.TO.{target}.{port}": None,
        "stig.flow.{flow}.changelog.{operator}": None,
        "stig.flow.{flow}.snapshots.{segment}": None,
        "stig.flow.{flow}.landmarks": "{segment}/{partition}",
        "stig.metrics.operators": "{host}",
        "stig.metrics.hosts": "{host}",
        "stig.metrics.links": "{host}",
        "stig.metrics.rejected": "{origin.topic}/{origin.partition}/{origin.offset}",
        "stig.models": "{key}",
    } == {topic.name: topic.key for topic in CATALOGUE}


def test_replication_follows_the_cluster_up_to_three() -> None:
    """One broker must be able to run everything; three must survive the loss of one without losing a record."""
    declared = PLACEMENTS.declare()
    assert [1, 2, 3, 3] == [copies_on(brokers, None) for brokers in (1, 2, 3, 5)]
    assert ["1", "1", "2"] == [declared.settings(copies)["min.insync.replicas"] for copies in (1, 2, 3)]


def test_what_is_laid_down_for_a_cluster_goes_before_its_size() -> None:
    """Four brokers in four cities with one copy each: three copies would make each hop wait for the farthest city."""
    assert [1, 2, 4] == [copies_on(4, laid_down) for laid_down in (1, 2, 5)]


def test_all_our_topics_carry_the_brokers_time() -> None:
    """By a host's clock, a month behind, dead letters would be past their retention when they are written; by one an
    hour ahead the broker would refuse every commit, and a watermark would pass everybody else's metrics."""
    assert {"LogAppendTime"} == {topic.timestamps for topic in CATALOGUE}


def test_a_users_topic_carries_the_users_time() -> None:
    """Where a source names no field, Kafka's timestamp is when it happened."""
    assert "CreateTime" == DEMO_SOURCE.timestamps


def test_shared_topics_need_no_flow_and_a_flows_topics_bear_its_name() -> None:
    """What a cluster needs before the first flow, and what a flow needs before its first segment."""
    assert {
        "stig.flows",
        "stig.hosts",
        "stig.placements",
        "stig.segments.status",
        "stig.plans",
        "stig.proposals",
        "stig.policies",
        "stig.requests",
        "stig.decisions",
        "stig.leases",
        "stig.moves",
        "stig.handovers",
        "stig.standbys",
        "stig.ants.routing",
        "stig.ants.scouting",
        "stig.ants.enforcement",
        "stig.metrics.operators",
        "stig.metrics.hosts",
        "stig.metrics.links",
        "stig.metrics.rejected",
        "stig.models",
    } == {declared.name for declared in shared()}
    own = [declared.name for declared in of_flow("talk")]
    assert ["stig.flow.talk.dead-letters", "stig.flow.talk.late", "stig.flow.talk.landmarks"] == own


def test_a_topic_on_a_cluster_is_found_in_the_catalogue() -> None:
    """Given a name from a cluster's list, a tool knows how to read it."""
    assert find("stig.segments.status") is SEGMENTS_STATUS
    assert find("stig.flow.talk.late") is LATE
    assert find("stig.flow.talk.edge.tcp.TO.traffic.0") is EDGE
    assert find("packets") is None
    assert find("stig.unknown") is None


def test_partitions_are_said_once() -> None:
    """Where the catalogue says how many, a caller cannot say otherwise; where it does not, the caller must."""
    with pytest.raises(AssertionError, match="has 1 partitions, not 2"):
        PLACEMENTS.declare(partitions=2)
    with pytest.raises(AssertionError, match="say how many partitions"):
        EDGE.declare(flow="talk", stream="a", target="b", port=0)


def test_the_largest_record_fits_into_a_dead_letter() -> None:
    """Whatever a default topic accepted must be kept whole when it cannot be processed."""
    letter = dead_letter(b"\xff" * RECORD_BYTES_MAX)
    assert DEAD_LETTERS.bytes_max >= len(DEAD_LETTERS.codec.encode(letter, topic="stig.flow.talk.dead-letters"))


def test_metrics_of_fifty_operators_on_four_partitions_stay_below_20_kb_a_second() -> None:
    """Measuring must cost next to nothing beside what is measured (issue 7)."""
    rng = random.Random(1)

    def moments(count: int, mean: float) -> Moments:
        return Moments.rounded(count, count * mean, count * mean**2 * rng.uniform(1, 3))

    def row(operator: int, partition: int) -> bytes:
        arrivals = rng.randrange(1_000, 100_000)
        metrics = OperatorMetrics(
            host="edge-1",
            flow=f"top-talkers-{operator // 5}",
            segment=f"top-talkers-{operator // 5}.traffic",
            operator=f"operator-{operator}",
            partition=partition,
            second=1_763_264_651,
            arrivals=arrivals,
            gaps_us=moments(arrivals, 1e6 / arrivals),
            batch=moments(arrivals, rng.uniform(0.1, 2)),
            service_us=moments(arrivals, rng.uniform(1, 20)),
            wait_us=moments(arrivals, rng.uniform(1_000, 50_000)),
            outputs=rng.randrange(arrivals),
            lag=rng.randrange(100_000),
            bytes_in=120 * arrivals,
            bytes_out=90 * arrivals,
            state_bytes=rng.randrange(10**8),
            late=0,
            dropped=0,
            dead_letters=0,
        )
        return METRICS_OPERATORS.codec.encode(metrics, topic="stig.metrics.operators")

    rows = [row(operator, partition) for operator in range(50) for partition in range(4)]
    assert 20_000 > len(gzip.compress(b"".join(rows), compresslevel=6))


def dead_letter(value: bytes) -> DeadLetter:
    return DeadLetter(
        flow="talk",
        operator="tcp",
        origin=Origin(topic="packets", partition=3, offset=4_711),
        error=clip("x" * 10_000),
        attempts=3,
        failed_ms=1,
        key=b"k",
        value=value,
    )
