"""Every topic of Stigmergy: its key, message and shape, who writes and who reads it. Each of these facts is only here.

Topics whose name holds a `{part}` exist once for each flow (or edge, or operator). `declare` gives one of them its name
and partitions; `topics.admin` makes it so on a cluster, or says how the cluster differs.
"""

from typing import Any

from topics import names
from topics.codec import Format
from topics.messages import (
    AntEnvelope,
    Block,
    CommittedPlan,
    DeadLetter,
    Decision,
    FlowRevision,
    Handover,
    HostMetrics,
    HostRegistration,
    Landmark,
    LateRecord,
    LeaseEntry,
    LinkMetrics,
    Model,
    MoveRecord,
    OperatorMetrics,
    Placement,
    Policy,
    ProposedPlan,
    RejectedMetrics,
    Request,
    SegmentStatus,
    StandbyStatus,
)
from topics.messages.ants import SEALED_BYTES_MAX
from topics.topic import DAY_MS, HOUR_MS, KIB, MIB, MINUTE_MS, Compacted, Declaration, Kept, Topic

ANT_PARTITIONS = 16
"""Of each control topic. Hosts may share one: each skips what is addressed to the others. More would make a new cluster
slow to start (a broker needs up to 0.1 s for a partition)."""

RECORD_BYTES_MAX = MIB
"""The largest source record that Stigmergy carries: Kafka's own default."""

FLOWS = Topic(
    name=names.FLOWS,
    purpose="flows as submitted; the newest revision counts",
    key="{flow}",
    message=FlowRevision,
    retention=Compacted(),
    written_by=("cli", "demo"),
    read_by=("placement", "host", "modelling", "cli", "demo"),
    bytes_max=MIB,
)

HOSTS = Topic(
    name=names.HOSTS,
    purpose="hosts that are there",
    key="{host}",
    message=HostRegistration,
    retention=Compacted(),
    written_by=("host",),
    read_by=("placement", "host", "cli"),
)

PLACEMENTS = Topic(
    name=names.PLACEMENTS,
    purpose="the registry: who runs which partition of which segment, since which epoch",
    key="{segment}/{partition}",
    message=Placement,
    retention=Compacted(),
    written_by=("placement", "cli"),
    read_by=("host", "placement", "cli"),
)

SEGMENTS_STATUS = Topic(
    name=names.SEGMENTS_STATUS,
    purpose="how each partition of each segment is",
    key="{segment}/{partition}",
    message=SegmentStatus,
    retention=Compacted(),
    written_by=("host",),
    read_by=("placement", "cli"),
)

PLANS = Topic(
    name=names.PLANS,
    purpose="the newest plan that each flow's leader committed, or that a person approved",
    key="{flow}",
    message=CommittedPlan,
    retention=Compacted(),
    written_by=("host", "placement"),
    read_by=("placement", "host", "cli"),
    bytes_max=256 * KIB,
)

PROPOSALS = Topic(
    name=names.PROPOSALS,
    purpose="the newest plan that each flow's leader was asked for; carried out only if a person approves it",
    key="{flow}",
    message=ProposedPlan,
    retention=Compacted(),
    written_by=("host",),
    read_by=("placement", "host", "cli"),
    bytes_max=256 * KIB,
)


def _ants(name: str, purpose: str) -> Topic[AntEnvelope]:
    """Ants that are minutes old are of no use to anybody; a host reads only the partition that its name hashes to."""
    return Topic(
        name=name,
        purpose=purpose,
        key="{target}",
        message=AntEnvelope,
        format=Format.MSGPACK,
        partitions=ANT_PARTITIONS,
        retention=Kept(for_ms=5 * MINUTE_MS, partition_bytes_max=16 * MIB),
        written_by=("host",),
        read_by=("host",),
        bytes_max=SEALED_BYTES_MAX + KIB,
    )


ANTS_ROUTING = _ants(names.ANTS_ROUTING, "routing ants, scents, and what hosts tell of themselves")
ANTS_SCOUTING = _ants(names.ANTS_SCOUTING, "scouts and measuring ants")
ANTS_ENFORCEMENT = _ants(names.ANTS_ENFORCEMENT, "enforcement ants and letters to leaders")

POLICIES = Topic(
    name=names.POLICIES,
    purpose="what people laid down for flows and hosts",
    key="{subject}/{name}",
    message=Policy,
    retention=Compacted(),
    written_by=("cli",),
    read_by=("placement", "host", "cli"),
)

REQUESTS = Topic(
    name=names.REQUESTS,
    purpose="people's wishes to the placement service and to leaders",
    key="{request}",
    message=Request,
    retention=Kept(for_ms=7 * DAY_MS),
    written_by=("cli",),
    read_by=("placement", "host"),
)

DECISIONS = Topic(
    name=names.DECISIONS,
    purpose="who decided what, when, on which evidence",
    key="{decision}",
    message=Decision,
    retention=Kept(for_ms=30 * DAY_MS),
    written_by=("placement", "host"),
    read_by=("placement", "cli"),
)

LEASES = Topic(
    name=names.LEASES,
    purpose="claims and renewals of leases; the broker's order and time decide who holds one",
    key="{lease}",
    message=LeaseEntry,
    retention=Kept(for_ms=10 * MINUTE_MS, segment_ms=5 * MINUTE_MS),
    written_by=("placement", "host"),
    read_by=("placement", "host", "cli"),
    bytes_max=4 * KIB,
)

MOVES = Topic(
    name=names.MOVES,
    purpose="moves: how far each is, and how it ended",
    key="{move}",
    message=MoveRecord,
    retention=Kept(for_ms=7 * DAY_MS),
    written_by=("placement",),
    read_by=("placement", "host", "cli"),
)

HANDOVERS = Topic(
    name=names.HANDOVERS,
    purpose="former owners say that they have drained and committed",
    key="{segment}/{partition}",
    message=Handover,
    retention=Kept(for_ms=HOUR_MS, segment_ms=HOUR_MS),
    written_by=("host",),
    read_by=("host", "placement"),
    bytes_max=4 * KIB,
)

STANDBYS = Topic(
    name=names.STANDBYS,
    purpose="how well hosts follow partitions that others own",
    key="{segment}/{partition}/{host}",
    message=StandbyStatus,
    retention=Compacted(),
    written_by=("host",),
    read_by=("placement", "cli"),
    bytes_max=4 * KIB,
)

DEAD_LETTERS = Topic(
    name=names.DEAD_LETTERS,
    purpose="records of a flow that could not be processed",
    key="{origin.topic}/{origin.partition}/{origin.offset}",
    message=DeadLetter,
    retention=Kept(for_ms=30 * DAY_MS),
    written_by=("host",),
    read_by=("cli",),
    bytes_max=2 * RECORD_BYTES_MAX,  # base64 adds a third, error and headers the rest
)

LATE = Topic(
    name=names.LATE,
    purpose="records of a flow that came after their window had closed",
    key="{origin.topic}/{origin.partition}/{origin.offset}",
    message=LateRecord,
    retention=Kept(for_ms=7 * DAY_MS),
    written_by=("host",),
    read_by=("users",),
    bytes_max=2 * RECORD_BYTES_MAX,
)

EDGE = Topic(
    name=names.EDGE,
    purpose="records from one segment to the next, in blocks; a segment may stand still for a week and lose nothing",
    key=None,
    message=Block,
    format=Format.MSGPACK,
    partitions=None,
    retention=Kept(for_ms=7 * DAY_MS),
    written_by=("host",),
    read_by=("host",),
    bytes_max=2 * RECORD_BYTES_MAX,
    proofread=False,
)

CHANGELOG: Topic[Any] = Topic(
    name=names.CHANGELOG,
    purpose="an operator's state, entry by entry, in the format of the host's store",
    key=None,
    message=None,
    format=None,
    partitions=None,
    retention=Compacted(segment_ms=600_000),
    written_by=("host",),
    read_by=("host",),
    bytes_max=2 * RECORD_BYTES_MAX,
)

SNAPSHOTS: Topic[Any] = Topic(
    name=names.SNAPSHOTS,
    purpose="a segment's whole state from time to time, so that recovery need not read all changes",
    key=None,
    message=None,
    format=Format.MSGPACK,
    partitions=None,
    retention=Compacted(segment_ms=600_000),
    written_by=("host",),
    read_by=("host",),
    bytes_max=2 * RECORD_BYTES_MAX,
)

LANDMARKS = Topic(
    name=names.LANDMARKS,
    purpose="where a flow's tasks, and replays of its dead letters, stood: Kafka forgets offsets after some days",
    key="{segment}/{partition}",
    message=Landmark,
    format=Format.MSGPACK,
    retention=Compacted(segment_ms=10 * MINUTE_MS),
    written_by=("host", "cli"),
    read_by=("host", "cli"),
    bytes_max=MIB,
)

METRICS_OPERATORS = Topic(
    name=names.METRICS_OPERATORS,
    purpose="each operator and partition, once a second",
    key="{host}",
    message=OperatorMetrics,
    partitions=4,
    retention=Kept(for_ms=3 * DAY_MS, partition_bytes_max=1024 * MIB),
    written_by=("host",),
    read_by=("host", "modelling", "cli"),
    bytes_max=8 * KIB,
    compression="gzip",
)

METRICS_HOSTS = Topic(
    name=names.METRICS_HOSTS,
    purpose="each host, once a second",
    key="{host}",
    message=HostMetrics,
    retention=Kept(for_ms=3 * DAY_MS, partition_bytes_max=512 * MIB),
    written_by=("host",),
    read_by=("host", "modelling", "placement", "cli"),
    bytes_max=8 * KIB,
    compression="gzip",
)

METRICS_LINKS = Topic(
    name=names.METRICS_LINKS,
    purpose="round trips between hosts, once a second",
    key="{host}",
    message=LinkMetrics,
    retention=Kept(for_ms=3 * DAY_MS, partition_bytes_max=512 * MIB),
    written_by=("host",),
    read_by=("host", "modelling", "placement", "cli"),
    bytes_max=8 * KIB,
    compression="gzip",
)

METRICS_REJECTED = Topic(
    name=names.METRICS_REJECTED,
    purpose="metrics that could not be used, and why",
    key="{origin.topic}/{origin.partition}/{origin.offset}",
    message=RejectedMetrics,
    retention=Kept(for_ms=7 * DAY_MS, partition_bytes_max=64 * MIB),
    written_by=("modelling",),
    read_by=("users",),
    bytes_max=16 * KIB,
)

MODELS = Topic(
    name=names.MODELS,
    purpose="fitted models, and hot spots that hosts see near; of one key the largest (second, batch) counts",
    key="{key}",
    message=Model,
    retention=Compacted(segment_ms=10 * MINUTE_MS),
    written_by=("modelling", "host"),
    read_by=("host", "modelling"),
    bytes_max=16 * KIB,
    compression="gzip",
)

CATALOGUE: tuple[Topic[Any], ...] = (
    FLOWS,
    HOSTS,
    PLACEMENTS,
    SEGMENTS_STATUS,
    PLANS,
    PROPOSALS,
    POLICIES,
    REQUESTS,
    DECISIONS,
    LEASES,
    MOVES,
    HANDOVERS,
    STANDBYS,
    ANTS_ROUTING,
    ANTS_SCOUTING,
    ANTS_ENFORCEMENT,
    DEAD_LETTERS,
    LATE,
    EDGE,
    CHANGELOG,
    SNAPSHOTS,
    LANDMARKS,
    METRICS_OPERATORS,
    METRICS_HOSTS,
    METRICS_LINKS,
    METRICS_REJECTED,
    MODELS,
)


def find(name: str) -> Topic[Any] | None:
    """The catalogue's row for a topic seen on a cluster; None if it is not ours."""
    return next((topic for topic in CATALOGUE if names.parse(topic.name, name) is not None), None)


def shared() -> tuple[Declaration, ...]:
    """The topics that every cluster has once, before any flow is there."""
    return tuple(topic.declare() for topic in CATALOGUE if "{" not in topic.name)


def of_flow(flow: str) -> tuple[Declaration, ...]:
    """The topics that every flow has; edges and changelogs depend on how it is cut into segments."""
    return (DEAD_LETTERS.declare(flow=flow), LATE.declare(flow=flow), LANDMARKS.declare(flow=flow))
