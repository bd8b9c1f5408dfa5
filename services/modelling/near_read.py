"""Warnings of hosts, which are on the topic of models and not in Redis: those that stand now, for tools."""

from confluent_kafka import TopicPartition

from services.registry.snapshot import TIMEOUT_S, offsets_since, read_to_end, reader
from topics.catalogue import MODELS
from topics.errors import MessageError
from topics.messages import HotSpotModel, Model

TOLD_S = 10
"""Hosts say every five seconds what stands: of those who have not for so long nobody hears any more."""


def warnings_of_hosts(bootstrap: str, *, now_ms: int, flow: str | None = None) -> list[Model]:
    """Those that stand (about this flow; None: about all), sorted by key."""
    found: dict[str, Model] = {}
    with reader(bootstrap) as consumer:
        topic = consumer.list_topics(timeout=TIMEOUT_S).topics.get(MODELS.name)
        numbers = sorted(topic.partitions) if topic is not None else []
        wanted = [TopicPartition(MODELS.name, number, now_ms - TOLD_S * 1_000) for number in numbers]
        starts = {each.partition: each.offset for each in offsets_since(consumer, wanted) if each.offset >= 0}
        places = [TopicPartition(MODELS.name, number) for number in starts]
        for record in read_to_end(consumer, places, starts=lambda at: starts[at.partition]):
            key, value = (record.key() or b"").decode(errors="replace"), record.value()
            if value is None or not is_of_host(key):
                continue
            try:
                model = MODELS.codec.decode(value, topic=MODELS.name, partition=0, offset=record.offset() or 0)
            except MessageError:
                continue
            found[key] = model
    spots = ((model, model.body) for _, model in sorted(found.items()))
    return [
        model
        for model, body in spots
        if isinstance(body, HotSpotModel) and body.in_s is not None and flow in (None, body.flow)
    ]


def is_of_host(key: str) -> bool:
    """Whether a host says so, of its own queue: `hotspot/FLOW/HOST`. The service's keys name no host."""
    kind, *names = key.split("/")
    return kind == "hotspot" and len(names) > 1
