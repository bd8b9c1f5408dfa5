"""Decisions as they are written down: one way to make them, for all who decide."""

import uuid
from collections.abc import Mapping

import msgspec

from topics import catalogue
from topics.errors import MessageError
from topics.messages import Decision, Message, clip
from topics.topic import Topic

BUSY = "busy"
"""The kind of a leader's answer to who asked what it would do, while it looks for a place for another reason."""
WEIGHED = "weighed"
"""The kind of a leader's word on a plan that a person wants carried out. It is evidence, no answer to the request."""


def decision(
    kind: str,
    what: str,
    why: str,
    *,
    by: str,
    now_ms: int,
    flow: str | None = None,
    request: str | None = None,
    plan: str | None = None,
    evidence: Mapping[str, float | str] | None = None,
) -> tuple[Topic, Message]:
    """An entry for the topic of decisions."""
    entry = Decision(
        decision=f"d-{uuid.uuid4().hex[:16]}",
        kind=kind,
        by=by,
        decided_ms=now_ms,
        what=clip(what),
        why=clip(why),
        flow=flow,
        request=request,
        plan=plan,
        evidence={name: clip(value) if isinstance(value, str) else value for name, value in (evidence or {}).items()},
    )
    return catalogue.DECISIONS, entry


def slimmed(topic: Topic, message: Message) -> tuple[Topic, Message]:
    """The entry; a decision that is too large goes without its evidence, since somebody may wait for it."""
    if isinstance(message, Decision) and fault_of(topic, message):
        return topic, msgspec.structs.replace(message, evidence={})
    return topic, message


def fault_of(topic: Topic, message: Message) -> str | None:
    """Why it can't be written, if it can't."""
    try:
        topic.codec.encode(message, topic=topic.name)
    except MessageError as error:
        return str(error)
    return None
