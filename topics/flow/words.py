"""The words a flow file is made of: which names are legal, and how a wrong one is put right."""

import re
from dataclasses import dataclass

from topics.flow.limits import FIELD_LENGTH_MAX, NAME_LENGTH_MAX
from topics.names import RESERVED_PREFIX, TOPIC_LENGTH_MAX, is_reserved


@dataclass(frozen=True, slots=True)
class Word:
    """A kind of name: its pattern, and the same pattern in words."""

    pattern: re.Pattern[str]
    rule: str

    def fits(self, text: str) -> bool:
        return self.pattern.fullmatch(text) is not None


_IDENTIFIER = f"[A-Za-z_][A-Za-z0-9_]{{0,{FIELD_LENGTH_MAX - 1}}}"

FLOW_NAME = Word(
    re.compile(r"[a-z][a-z0-9-]{0,62}"),
    "a name of at most 63 lower-case letters, digits and '-', beginning with a letter",
)
NAME = Word(
    re.compile(f"[a-z][a-z0-9_-]{{0,{NAME_LENGTH_MAX - 1}}}"),
    f"a name of at most {NAME_LENGTH_MAX} lower-case letters, digits, '-' and '_', beginning with a letter",
)
HOST = Word(
    re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?"), "a host's name: letters, digits, '.', '-' and '_'"
)
FIELD = Word(re.compile(_IDENTIFIER), "a field name: letters, digits and '_', not beginning with a digit")
LISTED_FIELD = Word(
    FIELD.pattern, f"{FIELD.rule}; a field inside an object gets a name of its own: fields: {{id: customer.id}}"
)
FIELD_PATH = Word(
    re.compile(rf"{_IDENTIFIER}(\.{_IDENTIFIER}){{0,7}}"), "a field name, or a dotted path such as 'customer.id'"
)
CALL = Word(
    re.compile(rf"{_IDENTIFIER}(\.{_IDENTIFIER})*:{_IDENTIFIER}"), "'module:function', such as 'shop.rules:score'"
)
REFERENCE = Word(
    re.compile(rf"{NAME.pattern.pattern}(\.{NAME.pattern.pattern})?"),
    "the name of a source or operator, or 'split.route'",
)

_TOPIC = re.compile(r"[A-Za-z0-9._-]+")


def topic_fault(topic: str) -> str | None:
    """Why a flow may not read or write this topic; None if it may."""
    if not topic or topic in (".", "..") or not _TOPIC.fullmatch(topic):
        return f"{topic!r} is not a topic name Kafka allows (letters, digits, '.', '_' and '-')"
    if len(topic) > TOPIC_LENGTH_MAX:
        return f"a topic name has at most {TOPIC_LENGTH_MAX} characters, this one has {len(topic)}"
    if is_reserved(topic):
        return f"topics that begin with {RESERVED_PREFIX!r} belong to Stigmergy"
    if topic.startswith("__"):
        return "topics that begin with '__' belong to Kafka"
    return None
