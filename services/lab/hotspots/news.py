"""What the modelling service and hosts publish of the flows, with the moment at which a reader got it."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
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
    """`heard` so far, in order: slack, and what the service and hosts foresee."""

    heard: list[Heard] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def take(self, model: Model, at_s: float) -> None:
        """One model; what the crier says is nobody's forecast."""
        if not is_cried(model):
            self.heard.append(Heard(at_s, model))

    def known(self) -> set[str]:
        """Flows whose slack is modelled."""
        return {each.model.body.flow for each in list(self.heard) if isinstance(each.model.body, SlackModel)}

    def standing(self) -> dict[str, HotSpotModel]:
        """The warnings that stand now, of the service and of hosts."""
        found: dict[str, HotSpotModel] = {}
        for each in list(self.heard):
            if isinstance(spot := each.model.body, HotSpotModel):
                found[each.model.key] = spot
        return {spot.flow: spot for spot in found.values() if spot.in_s is not None}

    def warned(
        self, first: int, seconds: int, steps: int, by: Callable[[str], bool] = lambda _: True
    ) -> list[set[str]]:
        """Of each step from the first second on: the flows of which a warning stood when it ended.

        `by`: who must have said it, by the model's key.
        """
        spots = [(each.at_s, each.model.key, each.model.body) for each in self.heard]
        mine = [(at_s, key, body) for at_s, key, body in spots if isinstance(body, HotSpotModel) and by(key)]
        found, stands, place = [], dict[str, str](), 0
        for step in range(seconds * steps):
            while place < len(mine) and mine[place][0] < first + (step + 1) / steps:
                _, key, spot = mine[place]
                stands.pop(key, None)
                if spot.in_s:  # 0: it is broken by now, and nobody foresees it any more
                    stands[key] = spot.flow
                place += 1
            found.append(set(stands.values()))
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
