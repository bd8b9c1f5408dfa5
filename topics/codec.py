"""From message to bytes and back, with one typed error for everything that can be wrong with bytes.

A codec belongs to one topic of the catalogue: it knows the message type, the format and the size limit. Its decoder is
compiled once by msgspec, so decoding costs little more than msgspec itself; only a failure looks at the bytes again, to
say what is wrong with them.
"""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from topics.errors import MessageError, OtherVersionError
from topics.messages.base import Message, version_of

M = TypeVar("M", bound=Message)


class Format(Enum):
    """JSON for what people look at, MessagePack for the rest."""

    JSON = "JSON"
    MSGPACK = "MessagePack"


UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""All that msgspec raises on hostile bytes: bad syntax or types, text that is not UTF-8, nesting without end."""

UNWRITABLE = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
"""All that msgspec raises on values that the format cannot hold."""


class Codec(Generic[M]):
    """Encodes and decodes one message type, at most `bytes_max` long.

    With `proofread`, what was encoded is decoded once before it leaves: a compacted topic must never hold a message
    that no reader accepts. Off only where a thousand records leave in one message.
    """

    def __init__(self, message: type[M], format: Format, bytes_max: int, *, proofread: bool = True) -> None:
        self.message = message
        self.format = format
        self.bytes_max = bytes_max
        self.expected = (
            f"{message.__name__} version {version_of(message)} as {format.value} of at most {bytes_max:,} bytes"
        )
        self._proofread = proofread
        library = msgspec.json if format is Format.JSON else msgspec.msgpack
        is_array = message.__struct_config__.array_like
        self._encode: Callable[[M], bytes] = library.Encoder().encode
        # msgspec demands the version only of a union, so a type that no bytes can satisfy stands beside ours.
        self._decode: Callable[[bytes], M] = library.Decoder(message if is_array else message | _Nothing).decode
        self._peek = library.Decoder(list[Any] if is_array else _Peek).decode
        first = msgspec.structs.fields(message)[0].type
        self._first: type = getattr(first, "__origin__", first)
        """The type of the first field, which stands behind the version of an array."""

    def encode(self, message: M, *, topic: str) -> bytes:
        """The message's bytes for this topic. Raises MessageError rather than write what no reader would accept."""
        try:
            value = self._encode(message)
            if self._proofread and len(value) <= self.bytes_max:
                self._decode(value)
        except UNWRITABLE as fault:
            raise self._bad(str(fault), topic, None, None) from fault
        if len(value) > self.bytes_max:
            raise self._bad(f"it has {len(value):,} bytes", topic, None, None)
        return value

    def decode(self, value: bytes | None, *, topic: str, partition: int, offset: int) -> M:
        """The message in these bytes, read at this place. Raises MessageError and nothing else.

        A null value deletes its key on a compacted topic; readers of such topics look for it before they decode.
        """
        if value is None:
            raise self._bad("the value is null", topic, partition, offset)
        fault = None
        if len(value) <= self.bytes_max:
            try:
                return self._decode(value)
            except UNREADABLE as error:
                fault = error
        other_version = self._other_version(value)
        if other_version is not None:
            raise self._bad(other_version, topic, partition, offset, OtherVersionError) from fault
        problem = f"it has {len(value):,} bytes" if fault is None else str(fault)
        raise self._bad(problem, topic, partition, offset) from fault

    def _other_version(self, value: bytes) -> str | None:
        """What to do about bytes that cannot be decoded, if their version can still be read and is not ours."""
        try:
            peek = self._peek(value)
            version = peek.version if isinstance(peek, _Peek) else self._version_in(peek)
        except UNREADABLE:
            return None
        if isinstance(version, int) and version > version_of(self.message):
            return f"it has version {version}; upgrade this reader"
        if isinstance(version, int) and version < version_of(self.message):
            return f"it has version {version}, which is no longer read; write it again with this version"
        return None

    def _version_in(self, array: list[Any]) -> int | None:
        """Of an array. Anybody's may begin with a number; behind a version comes what our first field is."""
        match array:
            case [int(version), first, *_] if version > 0 and isinstance(first, self._first):
                return version
        return None

    def _bad(
        self,
        problem: str,
        topic: str,
        partition: int | None,
        offset: int | None,
        kind: type[MessageError] = MessageError,
    ) -> MessageError:
        return kind(topic=topic, partition=partition, offset=offset, expected=self.expected, problem=problem)


class _Nothing(msgspec.Struct, frozen=True, tag_field="version", tag=-1):
    """Beside a message in a union, it makes msgspec demand the version. No bytes decode to it."""

    impossible: Annotated[str, msgspec.Meta(min_length=1, max_length=0)]


class _Peek(msgspec.Struct, frozen=True):
    """The version alone."""

    version: Any
