"""Flows as their users submitted them. The newest revision of each flow is the one that counts."""

from typing import Annotated, Literal

import msgspec

from topics.messages.base import Message, Name, Positive, TimeMs

Delivery = Literal["at_least_once", "exactly_once"]

FLOW_TEXT_LENGTH_MAX = 262_144


class FlowRevision(Message, frozen=True, kw_only=True):
    """A flow's file at one revision, wanted (`submitted`) or no longer wanted (`withdrawn`).

    A withdrawn flow keeps its text: hosts need it to drain what still runs.
    """

    flow: Name
    revision: Positive
    state: Literal["submitted", "withdrawn"]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=FLOW_TEXT_LENGTH_MAX)]
    delivery: Delivery
    changed_ms: TimeMs
    changed_by: Name | None = None
