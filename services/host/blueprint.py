"""From a flow's text to a segment that can run: compile, ask the broker, load functions, make topics.

Whatever stands in the way is told as one `CannotRunError`, whose words a person reads in the segment's status.
"""

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from services.host.changelog import changelog_topics
from services.host.graphs import compiled
from services.host.memory import MakeCaller
from services.host.plan_topics import declarations
from services.host.segment_plan import SegmentPlan, plan_segment
from services.host.wanted import Terms
from services.operators.functions import FunctionError
from services.operators.program import Program
from services.operators.wiring import segment_program
from services.process.broker import Broker
from services.sharing.equality import promise
from services.tasks import UnknownTopicError
from topics.admin import ClusterError, Difference
from topics.errors import TopicNameError
from topics.flow.problems import FlowError

log = structlog.get_logger(__name__)


class CannotRunError(Exception):
    """A segment can't run as things are; it is tried again when they change."""


async def blueprint(
    segment_id: str, text: str, broker: Broker, *, caller: MakeCaller, terms: Terms | None = None
) -> SegmentPlan:
    """The plan of a segment, with all its topics on the cluster. Raises CannotRunError."""
    try:
        graph = await asyncio.to_thread(compiled, text)
        if segment_id not in {segment.id for segment in graph.segments}:
            raise CannotRunError(
                f"flow {graph.spec.name} has no segment {segment_id} any more; submit it anew with stigmergy submit"
            )
        counts = await broker.partitions()
        terms = terms or Terms()
        bytes_max = await broker.bytes_max({sink.topic for sink in graph.spec.sinks} & set(counts))
        told = {topic: count for topic, count in terms.source_partitions.items() if topic in counts}
        plan = plan_segment(graph, segment_id, counts | told, terms.reads, bytes_max=bytes_max)
        _check_sources(plan, counts)
        _check_promise(plan, terms)
        program = segment_program(plan.graph, plan.segment, caller=caller)
        await _check_functions(program)
        differences = await broker.ensure(declarations(plan, changelog_topics(graph, program).values()))
    except FlowError as error:
        raise CannotRunError(f"the flow can't be compiled: {error}") from error
    except (UnknownTopicError, FunctionError, ClusterError, TopicNameError) as error:
        raise CannotRunError(str(error)) from error
    _check_topics(differences)
    return plan


async def _check_functions(program: Program) -> None:
    """In processes of their own: what a user's module does when it is imported is not to be trusted either."""
    try:
        for each in program.callers:
            await asyncio.to_thread(each.check)
    finally:
        program.close()


def _check_sources(plan: SegmentPlan, counts: Mapping[str, int]) -> None:
    for each in plan.inputs:
        if each.source is None:
            continue
        if each.source.partitions not in (None, counts[each.topic]):
            raise CannotRunError(
                f"{each.name}: the flow says that topic {each.topic} has {each.source.partitions} partitions, "
                f"the broker says {counts[each.topic]}; correct the flow"
            )
        if each.partitions > counts[each.topic]:
            raise CannotRunError(
                f"{each.name}: when the flow was placed topic {each.topic} had {each.partitions} partitions, the "
                f"broker says {counts[each.topic]}; if it was made anew, withdraw the flow and submit it again"
            )


def _check_promise(plan: SegmentPlan, terms: Terms) -> None:
    """A revision that was submitted in the same moment in which others began to read must not reach them."""
    if terms.promise not in (None, promise(plan.graph, plan.segment)):
        raise CannotRunError(
            f"this revision of {plan.flow} writes something else than other flows read; submit it as it was, or "
            "withdraw those (stigmergy flows names them)"
        )


def _check_topics(differences: Sequence[Difference]) -> None:
    """Other partitions would send keys to tasks that do not know them; other settings are only worth a warning."""
    for each in differences:
        if each.setting == "partitions":
            raise CannotRunError(str(each))
        log.warning("a topic is not as it should be", difference=str(each))
