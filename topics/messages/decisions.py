"""What people wish and what was decided, kept so that it can be explained, and replayed, later."""

from typing import Literal

import msgspec

from topics.messages.base import Count, Message, Name, Text, TimeMs

FlowPolicy = Literal["auto", "approve", "freeze"]
HostPolicy = Literal["open", "drained"]


class Policy(Message, frozen=True, kw_only=True):
    """What a person laid down for a flow or a host; it outlasts revisions and restarts.

    Of a flow: plans are carried out at once (`auto`), when a person approves them, or not at all (`freeze`).
    Of a host: it takes part (`open`), or everything leaves it and nothing comes (`drained`).
    """

    subject: Literal["flow", "host"]
    name: Name
    policy: FlowPolicy | HostPolicy
    changed_ms: TimeMs
    changed_by: Name | None = None

    def __post_init__(self) -> None:
        allowed = ("auto", "approve", "freeze") if self.subject == "flow" else ("open", "drained")
        if self.policy not in allowed:
            raise ValueError(f"the policy of a {self.subject} is one of {', '.join(allowed)}")


class Request(Message, frozen=True, kw_only=True):
    """A person's wish to the placement service, answered by a decision that names it.

    - `approve`: carry out the plan with this `hash` of this flow;
    - `move`: these `partitions` of a segment to this `host`;
    - `propose`: the flow's leader shall look for a better placement and publish it as `proposed`.

    `asked_ms` is by the asker's clock, which may be wrong: who reads it goes by when the broker got it.
    """

    request: Name
    kind: Literal["approve", "move", "propose"]
    flow: Name
    asked_ms: TimeMs
    asked_by: Name | None = None
    hash: Name | None = None
    segment: Name | None = None
    partitions: tuple[Count, ...] = ()
    host: Name | None = None

    def __post_init__(self) -> None:
        if self.kind == "approve" and self.hash is None:
            raise ValueError("an approval names the hash of a plan")
        if self.kind == "move" and (self.segment is None or self.host is None or not self.partitions):
            raise ValueError("a move names segment, partitions and host")


class Decision(Message, frozen=True, kw_only=True):
    """Who decided what, when, on which evidence.

    `kind` is a short word for tools, such as `placed`, `moved`, `refused`; `what` and `why` are for people.
    `evidence` holds the figures that it rests on, by name.
    """

    decision: Name
    kind: Name
    by: Name
    decided_ms: TimeMs
    what: Text
    why: Text
    flow: Name | None = None
    request: Name | None = None
    plan: Name | None = None
    evidence: dict[Name, float | Text] = msgspec.field(default_factory=dict)
