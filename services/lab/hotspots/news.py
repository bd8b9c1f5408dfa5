"""What the modelling service publishes of the flows, with the moment at which a reader got it."""

import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from confluent_kafka import Consumer, TopicPartition

from services.lab.hotspots.crier import is_cried
from topics import catalogue
from topics.errors import MessageError
from topics.messages import HotSpotModel, Model, SlackModel

POLL_S = 0.1
KINDS = (b"hotspot/", b"slack/")


@dataclass(frozen=True, slots=True)
class Heard:
    """A model, and when it came (seconds since 1970)."""

    at_s: float
    model: Model


@dataclass(slots=True)
class News:
    """`heard` so far, in order: slack and what is foreseen."""

    heard: list[Heard] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def take(self, model: Model, at_s: float) -> None:
        """One model; what the crier says is not the service's."""
        if not is_cried(model):
            self.heard.append(Heard(at_s, model))

    def known(self) -> set[str]:
        """Flows whose slack is modelled."""
        return {each.model.body.flow for each in list(self.heard) if isinstance(each.model.body, SlackModel)}

    def standing(self) -> dict[str, HotSpotModel]:
        """The warnings that stand now."""
        found: dict[str, HotSpotModel] = {}
        for each in list(self.heard):
            if isinstance(spot := each.model.body, HotSpotModel):
                found[spot.flow] = spot
        return {flow: spot for flow, spot in found.items() if spot.in_s is not None}

    def warned(self, flows: Sequence[str], first: int, seconds: int) -> list[set[str]]:
        """Of each second from the first on: the flows whose warning stood when it ended."""
        spots = [(each.at_s, each.model.body) for each in self.heard if isinstance(each.model.body, HotSpotModel)]
        found, stands, place = [], set[str](), 0
        for second in range(first, first + seconds):
            while place < len(spots) and spots[place][0] < second + 1:
                spot = spots[place][1]
                (stands.discard if spot.in_s is None else stands.add)(spot.flow)
                place += 1
            found.append(stands & set(flows))
        return found

    def behind_s(self, first: int, seconds: int) -> list[float]:
        """How long after the end of their second models of this time came."""
        slack = [each for each in self.heard if isinstance(each.model.body, SlackModel)]
        return [each.at_s - each.model.second - 1 for each in slack if first <= each.model.second < first + seconds]

    def read(self, bootstrap: str) -> None:
        """Until `stop`."""
        topic = catalogue.MODELS
        settings = {"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "log_level": 0}
        consumer = Consumer({**settings, "enable.auto.commit": False, "isolation.level": "read_uncommitted"})
        consumer.assign([TopicPartition(topic.name, number, 0) for number in range(topic.declare().partitions)])
        while not self._stop.is_set():
            message = consumer.poll(POLL_S)
            if message is None or message.error() is not None or not (message.key() or b"").startswith(KINDS):
                continue
            at_s, value = time.time(), message.value()
            if value is not None:
                with suppress(MessageError):
                    self.take(topic.codec.decode(value, topic=topic.name, partition=0, offset=0), at_s)
        consumer.close()

    def stop(self) -> None:
        """End."""
        self._stop.set()


@contextmanager
def listening(bootstrap: str) -> Iterator[News]:
    """News, from here to the end of the context."""
    news = News()
    reader = threading.Thread(target=news.read, args=(bootstrap,), daemon=True)
    reader.start()
    try:
        yield news
    finally:
        news.stop()
        reader.join()
