"""How a caller and its child talk: whole messages over a socket, each with its length before it, as MessagePack.

The child also counts, in memory that both see, the records that it has done: that is how the caller knows at which
record it hangs or died, even when it can't speak any more.
"""

import mmap
import os
import struct
from typing import Any

import msgspec

from services.operators.calls import Answers, Chunk
from services.operators.table import encode_value, extension

_LENGTH = struct.Struct("<Q")
LENGTH_BYTES = _LENGTH.size
_COUNT = struct.Struct("<q")


class Started(msgspec.Struct, array_like=True):
    """The child's first words: None, or why the function can't be called."""

    problem: str | None


_encode = msgspec.msgpack.Encoder().encode
_decoders = {kind: msgspec.msgpack.Decoder(kind, ext_hook=extension) for kind in (Started, Chunk, Answers)}


def packed(message: Any) -> bytes:
    """A message with its length."""
    try:
        body = _encode(message)
    except OverflowError:  # an integer beyond 64 bits
        body = encode_value(msgspec.to_builtins(message, builtin_types=(bytes,)))
    return _LENGTH.pack(len(body)) + body


def length(head: bytes | bytearray) -> int:
    """How long the message is that comes after this."""
    (found,) = _LENGTH.unpack(head)
    return int(found)


def unpacked(body: bytes | bytearray, kind: Any) -> Any:
    """The message of this kind."""
    return _decoders[kind].decode(body)


class Progress:
    """A count in shared memory. `descriptor` is what the other process opens it by."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = os.memfd_create("stigmergy-progress") if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, mmap.PAGESIZE)
        self._memory = mmap.mmap(self.descriptor, mmap.PAGESIZE)

    @property
    def done(self) -> int:
        """So many records."""
        (found,) = _COUNT.unpack_from(self._memory, 0)
        return int(found)

    @done.setter
    def done(self, count: int) -> None:
        _COUNT.pack_into(self._memory, 0, count)

    def close(self) -> None:
        """Done with it."""
        self._memory.close()
        os.close(self.descriptor)
