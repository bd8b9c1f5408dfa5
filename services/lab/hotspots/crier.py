"""A crier: tells leaders that a bound *is* broken, as the simulated half does, sooner than by any model.

It is told as a hot spot in 0 seconds, on the topic on which hot spots are foreseen, under keys of its own. So leaders
that only react send the same ants as those that foresee, only later.
"""

from collections.abc import Callable

from topics import catalogue
from topics.messages import HotSpotModel, Model

BY = "crier"
"""Who says so, at the end of its keys."""
Write = Callable[[str, bytes, bytes | None], None]
"""A topic, a value and its key."""


def cry(flow: str, operator: str, host: str, standing: HotSpotModel | None, *, now_s: float, write: Write) -> None:
    """A flow's bound is broken now; `host` is one of its own."""
    topic, model = catalogue.MODELS, cried(flow, operator, host, standing, now_s=now_s)
    write(topic.name, topic.codec.encode(model, topic=topic.name), topic.key_of(model))


def cried(flow: str, operator: str, host: str, standing: HotSpotModel | None, *, now_s: float) -> Model:
    """Where it is tightest and who should leave is what the service says, if a warning of it stands."""
    leaving: tuple[str, ...] = ()
    if standing is not None:
        host, leaving = standing.host, standing.leaving
    body = HotSpotModel(flow, host, operator, 0.0, 0.0, 1.0, leaving)
    return Model(f"hotspot/{flow}/{BY}", int(now_s), 1, 0, None, int(now_s * 1e3), 0, body)


def is_cried(model: Model) -> bool:
    """Whether the crier says it."""
    return isinstance(model.body, HotSpotModel) and model.key == f"hotspot/{model.body.flow}/{BY}"
