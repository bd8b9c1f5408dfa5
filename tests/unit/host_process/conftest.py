"""Messages of the registry with sensible defaults, and a view to put them into."""

from collections.abc import Callable
from typing import Any

import pytest

from services.registry.view import RegistryView
from topics import catalogue
from topics.messages import FlowRevision, HostRegistration, Message, Placement, SegmentStatus
from topics.topic import Topic

TEXT = """
flow: shop
sources:
  orders: {topic: orders, key: user, at: edge-1}
operators:
  large: {op: filter, input: orders, where: "size > 2"}
  pages: {op: aggregate, input: large, by: [page], emit: {n: count()}}
sinks:
  out: {input: pages, topic: results}
"""

TOPIC_OF: dict[type[Message], Topic[Any]] = {
    FlowRevision: catalogue.FLOWS,
    HostRegistration: catalogue.HOSTS,
    Placement: catalogue.PLACEMENTS,
    SegmentStatus: catalogue.SEGMENTS_STATUS,
}


@pytest.fixture
def flow_text() -> str:
    """A flow of two segments: large, which reads the source at edge-1, and pages after a re-key."""
    return TEXT


@pytest.fixture
def flow() -> Callable[..., FlowRevision]:
    def make(**more: Any) -> FlowRevision:
        defaults = {"flow": "shop", "revision": 1, "state": "submitted", "text": TEXT, "delivery": "at_least_once"}
        return FlowRevision(**{**defaults, "changed_ms": 0, **more})

    return make


@pytest.fixture
def placement() -> Callable[..., Placement]:
    def make(**more: Any) -> Placement:
        defaults = {"segment": "shop.1", "partition": 0, "epoch": 1, "host": "a", "flow": "shop", "revision": 1}
        return Placement(**{**defaults, "operators": ("large",), "placed_ms": 0, **more})

    return make


@pytest.fixture
def status() -> Callable[..., SegmentStatus]:
    def make(**more: Any) -> SegmentStatus:
        defaults = {"segment": "shop.1", "partition": 0, "host": "a", "epoch": 1, "state": "running", "since_ms": 0}
        return SegmentStatus(**{**defaults, "reported_ms": 0, "lag": 0, **more})

    return make


@pytest.fixture
def tell() -> Callable[..., Message | None]:
    """Puts a message into a view, as its topic would bring it."""

    def put(view: RegistryView, message: Message, *, key: bytes | None = None) -> Message | None:
        topic = TOPIC_OF[type(message)]
        value = topic.codec.encode(message, topic=topic.name)
        return view.apply(topic.name, key or topic.key_of(message), value, partition=0, offset=0)

    return put
