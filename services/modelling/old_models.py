"""Models on their topic that nobody has told again for long: what they are about has gone.

The service deletes models of what falls silent while it looks on (`Modeller.sweep`). What went while it did not run,
or before the broker's clock was set back, it does not know of; nor does anybody take back what a host warned of before
it died. Compaction would keep all that for ever.
"""

import sys
from itertools import islice

from confluent_kafka import TopicPartition

from services.registry.snapshot import TIMEOUT_S, offsets_since, read_to_end, reader
from topics.catalogue import MODELS

RECORDS_MAX = 200_000
"""Read at a time, from the oldest on: once compacted, what is so old is little but what has gone."""


def old_keys(bootstrap: str, *, before_ms: int) -> set[str]:
    """Keys of which a model was appended before this time and not deleted since; of some there may be newer ones."""
    found: set[str] = set()
    with reader(bootstrap) as consumer:
        topic = consumer.list_topics(timeout=TIMEOUT_S).topics.get(MODELS.name)
        numbers = sorted(topic.partitions) if topic is not None else []
        newer = offsets_since(consumer, [TopicPartition(MODELS.name, number, before_ms) for number in numbers])
        # Where nothing is as new, all of it is old.
        ends = {each.partition: each.offset if each.offset >= 0 else sys.maxsize for each in newer}
        places = [TopicPartition(MODELS.name, number) for number in numbers]
        for record in islice(read_to_end(consumer, places, stops=lambda at: ends[at.partition]), RECORDS_MAX):
            key = (record.key() or b"").decode(errors="replace")
            if record.value() is None:
                found.discard(key)
            else:
                found.add(key)
    return found
