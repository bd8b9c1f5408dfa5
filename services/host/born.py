"""When the source record behind a block was written: a Kafka header on edge topics, by which latency is measured.

Each block tells it of one record, the last that went into its batch: a sample, at no cost for the others.
"""

from collections.abc import Sequence

from services.host.writer import Headers

BORN_HEADER = "stig-born-ms"


def born_header(born_ms: int | None) -> Headers:
    """The header for blocks that came of a record written at this time."""
    return [(BORN_HEADER, b"%d" % born_ms)] if born_ms is not None else []


def read_born(headers: Sequence[tuple[str, bytes | None]]) -> int | None:
    """The time that a block's headers tell; None if they do not."""
    for name, value in headers:
        if name == BORN_HEADER and value is not None and value.isdigit():
            return int(value)
    return None
