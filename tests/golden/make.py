"""Golden files: the bytes of each message, as some version of Stigmergy wrote them.

Made by `.venv/bin/python tests/golden/make.py`. `messages/Placement.v1.0.json` is the first shape of major version 1.
A file is never changed or removed while its major version is still read: during a rolling upgrade old and new processes
read each other's bytes. When a message gains an optional field, give it a value in SAMPLES and run the command: it adds
`Placement.v1.1.json`. When the command refuses, the change would break a running cluster: undo it, or raise the major
version (docs/decisions/0020-message-versions.md).
"""

import sys
from pathlib import Path

from topics.catalogue import CATALOGUE
from topics.codec import Format
from topics.errors import MessageError
from topics.messages import (
    Alternative,
    AntEnvelope,
    Block,
    CommittedPlan,
    DeadLetter,
    Decision,
    Figures,
    FlowRevision,
    Handover,
    Header,
    HostMetrics,
    HostRegistration,
    Landmark,
    LateRecord,
    LeaseEntry,
    LinkMetrics,
    Message,
    Model,
    Moments,
    MoveRecord,
    OperatorMetrics,
    Origin,
    Placement,
    Policy,
    ProposedPlan,
    RateModel,
    RejectedMetrics,
    Request,
    SegmentMove,
    SegmentStatus,
    SegmentTap,
    Sketch,
    StandbyStatus,
    TappedEdge,
    VainTry,
    version_of,
)
from topics.topic import Topic

FOLDER = Path(__file__).parent / "messages"
SUFFIXES = {Format.JSON: "json", Format.MSGPACK: "msgpack"}

# One sample of each message, every field set to something other than its default.
SAMPLES: tuple[Message, ...] = (
    FlowRevision(
        flow="top-talkers",
        revision=3,
        state="submitted",
        text='flow: top-talkers\nqos: {latency_ms: 250}\n# "größer"\n',
        delivery="exactly_once",
        changed_ms=1_763_264_627_123,
        changed_by="ada",
    ),
    HostRegistration(
        host="edge-1",
        region="eu-north",
        capacity=1.5,
        address="127.0.0.1:7001",
        boot_id="5f0c9a2e",
        started_ms=1_763_264_600_000,
        software="0.1.0",
    ),
    Landmark(
        segment="top-talkers.traffic",
        partition=2,
        epoch=7,
        committed_ms=1_763_264_631_000,
        offsets={"packets": 1_234},
        remembered=b"\x93\xc0",
    ),
    Placement(
        segment="top-talkers.traffic",
        partition=2,
        epoch=7,
        host="edge-1",
        flow="top-talkers",
        revision=3,
        operators=("tcp", "traffic"),
        placed_ms=1_763_264_630_000,
        standbys=("noc",),
        origin="edge-2",
        plan="9c3d0f5a7be21c44",
        reads=(
            TappedEdge(
                "stig.flow.top-talkers.edge.tcp.TO.traffic.0",
                "stig.flow.all-talkers.edge.tcp.TO.sums.0",
                SegmentTap("top-talkers.aaaa", "all-talkers", "all-talkers.cccc"),
            ),
        ),
        serves=("few-talkers",),
        source_partitions={"packets": 4},
        promise="5d0a3c11b2e4f687",
    ),
    SegmentStatus(
        segment="top-talkers.traffic",
        partition=2,
        host="edge-1",
        epoch=7,
        state="parked",
        since_ms=1_763_264_640_000,
        reported_ms=1_763_264_641_000,
        lag=12_000,
        reason="operator tcp raised on 100 records in a row: KeyError('proto')",
        step="fencing",
        is_lag_known=False,
    ),
    CommittedPlan(
        flow="top-talkers",
        revision=3,
        epoch=4,
        hash="0123456789abcdef",
        hosts={"top-talkers.aaaa": "edge-1", "top-talkers.bbbb": "noc"},
        moves=(SegmentMove("top-talkers.bbbb", "edge-1", "noc"),),
        cost_ms=21.5,
        latency_ms=10.25,
        reason="a better place may have appeared",
        leader="edge-1",
        term=2,
        decided_ms=1_763_264_635_000,
        basis={"packets.rate_per_ms": "measured", "delays": "partly measured"},
        alternatives=(
            Alternative({"top-talkers.bbbb": "edge-2"}, 25.0, 12.5, "it costs 3.50 ms more than the best report"),
        ),
        taps=(SegmentTap("top-talkers.dddd", "all-talkers", "all-talkers.cccc"),),
        grounds={"packets.rate_per_s": 4_000.5, "edge-1 -> noc.delay_ms": 3.25, "noc.busy_share": 0.25},
        now=Figures(latency_ms=14.5, cost_ms=29.0, network_bytes=5_200.0),
        then=Figures(latency_ms=10.25, cost_ms=21.5, network_bytes=1_300.0),
        corrects="fedcba9876543210",
        in_vain=(VainTry("top-talkers.bbbb", "edge-3", 2, 1_763_264_634_000, by_person=True),),
    ),
    ProposedPlan(
        flow="top-talkers",
        revision=3,
        epoch=5,
        hash="89abcdef01234567",
        hosts={"top-talkers.aaaa": "edge-1", "top-talkers.bbbb": "edge-2"},
        moves=(SegmentMove("top-talkers.bbbb", "noc", "edge-2"),),
        cost_ms=20.5,
        latency_ms=10.0,
        reason="a user asked what it would do",
        leader="edge-1",
        term=2,
        decided_ms=1_763_264_635_500,
        basis={"packets.rate_per_ms": "measured", "delays": "measured"},
        alternatives=(Alternative({"top-talkers.bbbb": "edge-3"}, 26.0, 13.0, "it costs 5.50 ms more"),),
        grounds={"packets.rate_per_s": 4_000.5},
        now=Figures(latency_ms=10.25, cost_ms=21.5),
        then=Figures(latency_ms=10.0, cost_ms=20.5, network_bytes=1_250.0),
        objection="20.50 ms is not better than 21.50 ms by the factor 1.2",
        taps=(SegmentTap("top-talkers.dddd", "all-talkers", "all-talkers.cccc"),),
        corrects="fedcba9876543210",
        in_vain=(VainTry("top-talkers.bbbb", "edge-3", 2, 1_763_264_634_000, by_person=True),),
    ),
    AntEnvelope(target="edge-1", mac=bytes(range(32)), sealed=b"\x92\x01\xc0"),
    Policy(subject="flow", name="top-talkers", policy="approve", changed_ms=1_763_264_600_500, changed_by="ada"),
    Request(
        request="r-5f0c",
        kind="move",
        flow="top-talkers",
        asked_ms=1_763_264_600_700,
        asked_by="ada",
        hash="9c3d0f5a7be21c44",
        segment="top-talkers.9a2b",
        partitions=(0, 2),
        host="noc",
    ),
    Decision(
        decision="d-77aa",
        kind="moved",
        by="placement-1",
        decided_ms=1_763_264_631_000,
        what="top-talkers.9a2b/2 from edge-2 to noc",
        why="plan 9c3d0f5a7be21c44",
        flow="top-talkers",
        request="r-5f0c",
        plan="9c3d0f5a7be21c44",
        evidence={"predicted_pause_ms": 62.5, "policy": "auto"},
    ),
    LeaseEntry(lease="leader/top-talkers", holder="edge-1/5f0c9a2e", act="renew", duration_ms=5_000, term=4_711),
    MoveRecord(
        move="m-0a1b",
        flow="top-talkers",
        segment="top-talkers.9a2b",
        partition=2,
        epoch=6,
        origin="edge-2",
        target="noc",
        phase="done",
        proposed_ms=1_763_264_629_500,
        since_ms=1_763_264_631_000,
        reason="plan 9c3d0f5a7be21c44",
        plan="9c3d0f5a7be21c44",
        request="r-5f0c",
        predicted_pause_ms=62.5,
        paused_ms=1_763_264_630_900,
        actual_pause_ms=71.0,
        trouble="the target was slow",
        unread_changes=120,
        followed=True,
    ),
    Handover(
        segment="top-talkers.9a2b",
        partition=2,
        epoch=6,
        host="edge-2",
        drained_ms=1_763_264_630_950,
        stopped_ms=1_763_264_630_930,
    ),
    StandbyStatus(
        segment="top-talkers.9a2b",
        partition=2,
        host="noc",
        is_ready=True,
        lag=3,
        entries=100_000,
        reported_ms=1_763_264_630_000,
    ),
    DeadLetter(
        flow="top-talkers",
        operator="tcp",
        origin=Origin(topic="packets", partition=3, offset=4_711, row=5),
        error="not JSON: unexpected end (byte 7)",
        attempts=3,
        failed_ms=1_763_264_650_000,
        key=b"10.0.0.1",
        value=b'{"src":\xff',
        headers=(Header(name="trace", value=b"\x00\x01"), Header(name="empty", value=None)),
        cut=True,
        computed="one",
        timestamp_ms=1_763_264_649_321,
    ),
    LateRecord(
        flow="top-talkers",
        operator="traffic",
        origin=Origin(topic="packets", partition=3, offset=4_712, row=6),
        event_time_ms=1_763_264_000_000,
        watermark_ms=1_763_264_649_000,
        seen_ms=1_763_264_650_000,
        key=b"10.0.0.1",
        value={"src": "10.0.0.1", "bytes": 1_500, "tags": ["a", None, 1.5, True]},
    ),
    Block(
        segment="top-talkers.traffic",
        partition=2,
        epoch=7,
        watermark_ms=1_763_264_649_000,
        origin_topic="packets",
        origin_partition=3,
        keys=[b"10.0.0.1", None],
        times_ms=[1_763_264_649_500, 1_763_264_649_700],
        offsets=[4_713, -1],
        values=[{"src": "10.0.0.1", "bytes": 1_500}, {"src": None, "ok": True, "ratio": 0.25}],
    ),
    OperatorMetrics(
        host="edge-1",
        flow="top-talkers",
        segment="top-talkers.traffic",
        operator="tcp",
        partition=2,
        second=1_763_264_651,
        arrivals=4_000,
        gaps_us=Moments(count=4_000, sum=1_000_000.0, sum_sq=612_345_678.5),
        batch=Moments(count=4_000, sum=3_000.0, sum_sq=3_000.0),
        service_us=Moments(count=4_000, sum=9_100.25, sum_sq=31_234.5),
        wait_us=Moments(count=4_000, sum=812_000.0, sum_sq=250_123_456.0),
        outputs=3_000,
        lag=12_000,
        bytes_in=480_000,
        bytes_out=300_000,
        state_bytes=7_340_032,
        late=4,
        dropped=2,
        dead_letters=1,
        latency_ms=Sketch(count=3, sum=36.0, sum_sq=506.0, min=5.0, max=20.0, buckets=((17, 1), (26, 1), (32, 1))),
    ),
    HostMetrics(
        host="edge-1",
        boot_id="5f0c9a2e",
        second=1_763_264_651,
        cpu=0.75,
        memory_bytes=268_435_456,
        capacity=1.5,
        operators=12,
        loop_delay_ms=Moments(count=100, sum=40.5, sum_sq=32.25),
        loop_delay_ms_max=3.5,
        clock_offset_ms=-1.25,
    ),
    LinkMetrics(
        host="edge-1",
        peer="noc",
        second=1_763_264_651,
        sent=4,
        lost=1,
        round_trip_ms=Sketch(count=3, sum=36.0, sum_sq=506.0, min=5.0, max=20.0, buckets=((17, 1), (26, 1), (32, 1))),
    ),
    RejectedMetrics(
        origin=Origin(topic="stig.metrics.operators", partition=2, offset=4_711),
        offsets=(4_711, 4_713),
        reason="service_us holds a negative number",
        appended_ms=1_763_264_651_250,
        value=b'{"version":1,"host":"edge-1"}',
    ),
    Model(
        key="rate/top-talkers/tcp",
        second=1_763_264_651,
        window_s=120,
        samples=118,
        error=0.015,
        made_ms=1_763_264_652_300,
        batch=4_711,
        body=RateModel("top-talkers", "top-talkers.traffic", "tcp", 4_000.5, 4_100.25, 10, 1.25, 0.75),
    ),
)


def encode(topic: Topic[Message], sample: Message) -> bytes:
    """The sample's bytes on its topic."""
    return topic.codec.encode(sample, topic=topic.name)


def shapes(topic: Topic[Message]) -> list[Path]:
    """The golden files of the topic's message at its present major version, oldest shape first."""
    assert topic.message is not None
    stem = f"{topic.message.__name__}.v{version_of(topic.message)}"
    return sorted(FOLDER.glob(f"{stem}.*.{SUFFIXES[topic.format]}"), key=lambda path: int(path.name.split(".")[2]))


def main() -> int:
    """Writes a golden file for each message whose bytes are new; refuses when a reader could not read the old ones."""
    FOLDER.mkdir(exist_ok=True)
    samples = {type(sample): sample for sample in SAMPLES}
    for topic in CATALOGUE:
        if topic.message is None:
            continue
        value = encode(topic, samples[topic.message])
        known = shapes(topic)
        for path in known:
            try:
                topic.codec.decode(path.read_bytes(), topic=path.name, partition=0, offset=0)
            except MessageError as fault:
                print(f"refused: {fault}")
                return 1
        if not known or known[-1].read_bytes() != value:
            stem = f"{topic.message.__name__}.v{version_of(topic.message)}.{len(known)}"
            (FOLDER / f"{stem}.{SUFFIXES[topic.format]}").write_bytes(value)
            print(f"wrote {stem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
