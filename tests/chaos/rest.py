"""When everything has come to rest: each segment, in the order of the flow, has committed all that it was given."""

from functools import partial

from services.host.segment_plan import SegmentPlan
from tests.chaos.ground import answer, until
from tests.chaos.observed import Observer, Row

PATIENCE_S = 180.0


def settle(observer: Observer, plans: list[SegmentPlan]) -> dict[str, list[Row]]:
    """Waits for rest; returns the records of each topic that a segment reads, as it reads them."""
    read: dict[str, list[Row]] = {}
    for plan in plans:
        for each in plan.inputs:
            _wait_for_transactions(observer, each.topic)
            read[each.topic] = answer(partial(observer.rows, each.topic, committed=plan.reads_committed))
            last = {row.partition: row.offset for row in read[each.topic]}
            until(
                partial(_has_passed, observer, plan.group, each.topic, last),
                f"segment {plan.segment.id} has processed {each.topic} up to {last}",
                patience_s=PATIENCE_S,
            )
    for topic in {output.topic for plan in plans for output in plan.outputs}:
        _wait_for_transactions(observer, topic)
    return read


def _wait_for_transactions(observer: Observer, topic: str) -> None:
    until(
        lambda: not observer.has_open_transaction(topic),
        f"no transaction is open on {topic}",
        patience_s=PATIENCE_S,
    )


def _has_passed(observer: Observer, group: str, topic: str, last: dict[int, int]) -> bool:
    committed = observer.committed(group)
    return all(committed.get((topic, partition), (0, ""))[0] > offset for partition, offset in last.items())
