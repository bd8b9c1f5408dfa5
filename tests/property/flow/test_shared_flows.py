"""Any flow beside one that is like it: whatever it taps, nothing that it runs is left without what it reads."""

from hypothesis import given, settings
from hypothesis import strategies as st

from placement.served import served_flow
from services.host.cell.flow_model import model_flow
from services.host.segment_plan import Output, plan_segment
from services.operators.wiring import input_name
from services.sharing.equality import INNER, tapped_edges, topic_of, writer
from services.sharing.taps import choose, edges_read, left_to_run, sound
from topics.flow.builder import Flow
from topics.flow.file import parse_graph
from topics.flow.graph import FlowGraph

MOST = settings(max_examples=60)
REGIONS = {"ant": "north", "bee": "north", "cat": "south"}


def twin(flow: Flow) -> FlowGraph:
    """The same flow under another name."""
    return parse_graph(flow.to_yaml().replace("flow: demo", "flow: twin", 1))


def counts_of(graph: FlowGraph) -> dict[str, int]:
    topics = {source.topic: source.partitions or 3 for source in graph.spec.sources}
    return topics | {sink.topic: 2 for sink in graph.spec.sinks}


@MOST
@given(st.data())
def test_all_that_runs_reads_what_somebody_writes(flows: st.SearchStrategy[Flow], data: st.DataObject) -> None:
    """A tapped segment runs nowhere; each of its edges that is read leads to one of the other flow, as wide as it."""
    flow = data.draw(flows)
    graph, server = twin(flow), flow.graph()
    taps = choose(graph, [server])
    tapped = {tap.segment for tap in taps}
    running = left_to_run(graph, tapped)
    edges = [edge for tap in taps for edge in tapped_edges(graph, server, tap)]
    outputs = [output for segment in server.segments for output in _outputs(server, segment.id)]
    written = {output.topic: output.partitions for output in outputs}
    assert not tapped & running
    for segment in graph.segments:
        if segment.id in running:
            plan = plan_segment(graph, segment.id, counts_of(graph), edges_read(graph, segment.id, edges))
            inputs = {each.name: each for each in plan.inputs}
            assert len(inputs) == len({each.topic for each in plan.inputs}), "each input has a topic of its own"
            for edge in segment.inputs:
                if edge.kind in INNER:
                    each, before = inputs[input_name(edge)], writer(graph, edge).id
                    assert (before in tapped) != (before in running)
                    assert (before in tapped) == (each.topic != topic_of(graph, edge))
                    assert before in running or written[each.topic] == each.partitions


def _outputs(graph: FlowGraph, segment_id: str) -> tuple[Output, ...]:
    return plan_segment(graph, segment_id, counts_of(graph)).outputs


@MOST
@given(st.data())
def test_what_is_left_is_a_flow_that_can_be_placed(flows: st.SearchStrategy[Flow], data: st.DataObject) -> None:
    """With just the tasks that run, each fed by something."""
    flow = data.draw(flows)
    graph = twin(flow)
    tapped = [tap.segment for tap in choose(graph, [flow.graph()])]
    left = served_flow(model_flow(graph, REGIONS, served=tapped).flow, dict.fromkeys(tapped, "bee"))
    assert left_to_run(graph, tapped) == {task.name for task in left.tasks}
    assert set(tapped) <= {source.name for source in left.sources}
    assert all(left.graph.into[number] for number in range(left.graph.task_count))


@MOST
@given(st.data())
def test_what_is_sound_stays_so(flows: st.SearchStrategy[Flow], data: st.DataObject) -> None:
    """A leader that takes over comes to the same answer from what the registry has kept."""
    graph = data.draw(flows).graph()
    candidates = data.draw(st.sets(st.sampled_from(sorted(each.id for each in graph.segments))))
    found = sound(graph, candidates)
    assert found <= candidates
    assert found == sound(graph, found)
