"""What a host must know to run a segment: its topics and their partitions, its group, how it delivers.

It follows from the compiled flow and from the partition counts of the user's topics. Of sources these are what the
flow was placed by, so that all segments of a flow expect the same of each other; of sinks, what the broker says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.operators.pruning import Fields, can_have_slots, fields_read
from services.operators.wiring import input_name
from services.tasks import commit_interval_ms, count_of, partitions_of, writer_of
from topics.flow.graph import Edge, FlowGraph, Segment
from topics.flow.specs import Sink, Source
from topics.messages import TappedEdge
from topics.names import edge_topic, landmark_topic, snapshot_topic

STRETCHED_S_MAX = 3.0
"""From the first record of a transaction to the end of its commit, where commits are slow. One request that a broker
does not answer, and the retry, still fit into the time after which it gives a transaction up."""


@dataclass(frozen=True, slots=True)
class Input:
    """One topic that a segment reads. `source` None: an edge topic, written by this many upstream partitions.

    `idle_ms`: how long a partition may be silent until nobody waits for it; None for an edge, whose writers say so.
    `tells`: whether what can't be read, or comes late, is set aside by this segment. Of those that read a source one
    does, so that each such record is told once. `server`: the flow to which an edge topic belongs, if it is another.
    `writer`: the segment that writes an edge; what others left there, of a revision before, is not for us.
    `slots`: whether the segment reads a source's records by the names of fields alone.
    """

    name: str
    topic: str
    partitions: int
    source: Source | None
    fields: Fields
    upstream_partitions: int
    idle_ms: int | None
    tells: bool = True
    server: str | None = None
    writer: str | None = None
    slots: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """One topic that a segment writes. `by`: the fields that choose an edge's partition; None: the task's own.

    `bytes_max`: the largest batch that a sink's topic takes, as the broker said when the plan was made.
    """

    stream: str
    topic: str
    partitions: int
    sink: Sink | None
    by: tuple[str, ...] | None
    bytes_max: int | None = None


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """One segment of one flow, ready to run on any number of hosts."""

    graph: FlowGraph
    segment: Segment
    partitions: int
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    commit_interval_s: float

    @property
    def flow(self) -> str:
        return self.graph.spec.name

    @property
    def group(self) -> str:
        """The consumer group under which offsets are committed, so that every Kafka tool shows the segment's lag."""
        return f"stig.{self.segment.id}"

    @property
    def snapshots(self) -> str:
        """The topic that keeps the state of all its tasks."""
        return snapshot_topic(self.flow, self.segment.id.rpartition(".")[2])

    @property
    def landmarks(self) -> str:
        """The topic on which all tasks of the flow note where they stand."""
        return landmark_topic(self.flow)

    def transactional_id(self, partition: int) -> str:
        """The same for every owner of this partition: a new owner fences the former one."""
        return f"stig.{self.segment.id}.{partition}"

    @property
    def reads_committed(self) -> bool:
        """Users' aborted records never count. Edges are read ahead of their commit where duplicates are allowed."""
        return self.graph.spec.delivery == "exactly_once" or any(each.source is not None for each in self.inputs)

    @property
    def is_awaited(self) -> bool:
        """Whether a segment of the flow reads our edges and a source: it sees of us only what is committed."""
        own = self.segment.operators
        return any(
            any(edge.kind == "source" for edge in each.inputs)
            and any(edge.kind != "source" and edge.upstream in own for edge in each.inputs)
            for each in self.graph.segments
        )

    @property
    def stretched_s_max(self) -> float:
        """How seldom a task may commit, with the commit itself, where commits are slow (decision 260).

        Half of the bound: also readers of committed records are to have their results within it.
        """
        spec = self.graph.spec
        if spec.delivery != "at_least_once" or self.is_awaited:
            return self.commit_interval_s
        bound_ms = spec.qos.latency_ms
        return STRETCHED_S_MAX if bound_ms is None else min(STRETCHED_S_MAX, bound_ms / 2_000)


def plan_segment(
    graph: FlowGraph,
    segment_id: str,
    topic_partitions: Mapping[str, int],
    reads: Sequence[TappedEdge] = (),
    *,
    bytes_max: Mapping[str, int] | None = None,
) -> SegmentPlan:
    """The plan of one segment. `topic_partitions`: of the flow's source and sink topics.

    `reads`: edges that other flows serve; they have the same partitions and as many writers. `bytes_max`: of the sink
    topics, where the broker has told.
    """
    segment = next(each for each in graph.segments if each.id == segment_id)
    sources = {source.name: source for source in graph.spec.sources}
    sinks = {sink.name: sink for sink in graph.spec.sinks}
    served = {each.edge: each for each in reads}
    operators = [(each.name, each.spec) for each in graph.operators]
    own = [(name, spec) for name, spec in operators if name in segment.operators]
    read = fields_read(graph.spec.sources, operators, graph.spec.sinks)

    def input_of(edge: Edge) -> Input:
        if edge.kind == "source":
            source = sources[edge.upstream]
            count = count_of(topic_partitions, source.topic, source.name)
            tells = _first_reader(graph, source.name) == segment_id
            fields = read[source.name]
            slots = can_have_slots(source.name, fields, own, leaving=[each.stream for each in segment.outputs])
            return Input(input_name(edge), source.topic, count, source, fields, 0, source.idle_ms, tells, slots=slots)
        writer = writer_of(graph, edge)
        upstream = partitions_of(graph, writer, topic_partitions)
        count = edge.rekey.partitions if edge.rekey else upstream
        topic = edge_topic(graph.spec.name, edge.stream, edge.target, edge.port_number)
        if topic in served:
            other, tap = served[topic], served[topic].tap
            name, by = input_name(edge), tap.server_segment
            return Input(name, other.topic, count, None, None, upstream, None, server=tap.server, writer=by)
        return Input(input_name(edge), topic, count, None, None, upstream, None, writer=writer.id)

    def output_of(edge: Edge) -> Output:
        if edge.kind == "sink":
            sink = sinks[edge.target]
            count = count_of(topic_partitions, sink.topic, sink.name)
            return Output(edge.stream, sink.topic, count, sink, None, (bytes_max or {}).get(sink.topic))
        topic = edge_topic(graph.spec.name, edge.stream, edge.target, edge.port_number)
        if edge.rekey:
            return Output(edge.stream, topic, edge.rekey.partitions, None, edge.rekey.by)
        return Output(edge.stream, topic, partitions_of(graph, segment, topic_partitions), None, None)

    return SegmentPlan(
        graph=graph,
        segment=segment,
        partitions=partitions_of(graph, segment, topic_partitions),
        inputs=tuple({each.name: each for each in map(input_of, segment.inputs)}.values()),
        outputs=tuple(map(output_of, segment.outputs)),
        commit_interval_s=commit_interval_ms(graph.spec) / 1_000,
    )


def _first_reader(graph: FlowGraph, source: str) -> str:
    """Of the segments that read a source, the first in the order of the graph: the same for all who ask."""
    return next(
        segment.id
        for segment in graph.segments
        for edge in segment.inputs
        if (edge.kind, edge.upstream) == ("source", source)
    )
