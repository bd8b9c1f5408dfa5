"""Reading record batches in which names of headers are no UTF-8.

Kafka says that they are, brokers do not look, and clients in C send any bytes. aiokafka gives up the whole batch, and
its partition can't be read any further. Kafka's own client reads such a name with marks in the place of what it can't
read, and so do we: what counts is the value.
"""

from typing import Any

from aiokafka.consumer import fetcher
from aiokafka.record.default_records import _DefaultRecordBatchPy
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import decode_varint

BASE_OFFSET_BYTES, LENGTH_BYTES = 8, 4
MARK = ord("?")


class KeptRecords(MemoryRecords):
    """A broker's answer that keeps its bytes at hand: aiokafka's own shows them to nobody."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(raw)
        self.raw = raw

    def reread(self, base_offset: int) -> list[Any]:
        """The records of one of its batches, with marks in the names of headers."""
        begin = 0
        while True:
            head = begin + BASE_OFFSET_BYTES
            end = head + LENGTH_BYTES + int.from_bytes(self.raw[head : head + LENGTH_BYTES], "big")
            if int.from_bytes(self.raw[begin:head], "big") == base_offset:
                return list(_MarkedBatch(bytearray(self.raw[begin:end])))
            begin = end


fetcher.MemoryRecords = KeptRecords


class _MarkedBatch(_DefaultRecordBatchPy):
    """Puts marks into the names of a record's headers before it reads the record."""

    def _read_msg(self, *given: Any) -> Any:
        buffer = self._buffer
        _, at = decode_varint(buffer, self._pos)  # length
        for _ in ("attributes", "time", "offset"):
            _, at = decode_varint(buffer, at)
        for _ in ("key", "value"):
            at = _behind(buffer, at)
        headers, at = decode_varint(buffer, at)
        for _ in range(headers):
            length, begin = decode_varint(buffer, at)
            name = bytes(buffer[begin : begin + length])
            if not _is_text(name):
                buffer[begin : begin + length] = bytes(each if each < 0x80 else MARK for each in name)
            at = _behind(buffer, begin + length)
        return super()._read_msg(*given)


def _behind(buffer: bytearray, at: int) -> int:
    """Where something ends that begins there with its length, which is below 0 for nothing."""
    length, begin = decode_varint(buffer, at)
    return begin + max(0, length)


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
