"""Where a segment that has committed nothing may begin."""

from collections.abc import Mapping, Sequence

from aiokafka import TopicPartition

from services.host.segment_plan import Input


class FirstRecordsGoneError(Exception):
    """An edge topic that is to be read from its beginning does not have its first records any more."""


def check_beginnings(inputs: Sequence[Input], beginnings: Mapping[TopicPartition, int]) -> None:
    """Who reads another flow's edge reads all of it, as it would have written it. Raises FirstRecordsGoneError.

    Who chose to share has looked; but topics forget, and what is gone before the first fetch would be gone in silence.
    """
    servers = {each.topic: each.server for each in inputs if each.server is not None}
    for at, offset in sorted(beginnings.items()):
        if offset > 0 and at.topic in servers:
            raise FirstRecordsGoneError(
                f"{servers[at.topic]} has kept {at.topic}[{at.partition}] from offset {offset} on only; "
                "submit this flow under another name, and it runs by itself"
            )
