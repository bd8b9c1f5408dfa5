"""What all messages have in common: they are frozen, named by keyword, and carry their major version.

The version is written as the first field, `version`. It is the *major* version: it changes only when an old reader
could misread the message. Adding an optional field (with a default) changes nothing for old readers, which skip fields
that they do not know; new readers of old bytes see the default. The rule and its reasons:
docs/decisions/0020-message-versions.md.
"""

from typing import Annotated

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=249)]
TEXT_LENGTH_MAX = 4_096
Text = Annotated[str, msgspec.Meta(max_length=TEXT_LENGTH_MAX)]
"""Words for a person, such as an error; cut by `clip` before they are put into a message."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
"""A measured quantity; never negative."""
TimeMs = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Milliseconds since 1970, UTC; exact in every JSON reader."""


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, tag_field="version", tag=1):
    """One value on one of our topics. A subclass with another major version says `tag=2`."""


def version_of(message: type[Message]) -> int:
    """The major version that this type writes and reads."""
    version = message.__struct_config__.tag
    assert isinstance(version, int), message
    return version


class Origin(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The record that something came from: enough to read it again. `row` tells which one of a block."""

    topic: Name
    partition: Count
    offset: Count
    row: Count | None = None


def clip(text: str) -> str:
    """The text, cut to what a Text may hold."""
    return text if len(text) <= TEXT_LENGTH_MAX else text[: TEXT_LENGTH_MAX - 1] + "…"
