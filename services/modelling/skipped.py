"""What a query that begins anew leaves out: metrics from before the window of all models, which nobody looks at.

No model needs them, but garbage among them is neither counted nor set aside. So it is told which rows they are.
"""

import structlog
from confluent_kafka import TopicPartition

from services.modelling.checkpoint import Places
from services.registry.errors import RegistryError
from services.registry.snapshot import offsets_since, reader, watermarks

log = structlog.get_logger(__name__)


def tell_skipped(bootstrap: str, reached: Places, *, since_ms: int | None) -> tuple[int, Places]:
    """How many rows lie between where the last query came to and where one begins that has no checkpoint, and where
    that is. The log has their offsets."""
    try:
        begins = starts(bootstrap, reached, since_ms=since_ms)
    except RegistryError as fault:
        log.warning("metrics may have been skipped; which ones can't be told", error=str(fault))
        return 0, reached
    ranges = gaps(reached, begins)
    if ranges:
        words = "metrics from before the window were skipped; garbage among them was neither counted nor set aside"
        log.warning(words, rows=sum(ranges.values()), offsets=list(ranges))
    return sum(ranges.values()), begins


def starts(bootstrap: str, places: Places, *, since_ms: int | None) -> Places:
    """Where a query without a checkpoint begins in these partitions: with what came since then, or (None) will come."""
    with reader(bootstrap) as consumer:
        asked = [TopicPartition(topic, number, since_ms or 0) for topic, number in sorted(places)]
        ends = {(at.topic, at.partition): watermarks(consumer, at)[1] for at in asked}
        found = offsets_since(consumer, asked) if since_ms is not None else []
        return ends | {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}


def gaps(before: Places, begins: Places) -> dict[str, int]:
    """Of each partition that goes on further on, in words, how many rows that leaves out."""
    found = {}
    for (topic, number), at in sorted(before.items()):
        next_one = begins.get((topic, number), at)
        if next_one > at:
            found[f"{topic}/{number} from {at} to {next_one - 1}"] = next_one - at
    return found
