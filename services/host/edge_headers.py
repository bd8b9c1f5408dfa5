"""What the blocks on edge topics tell beside their records, as Kafka headers.

- When the source record behind a block was written: latency is measured by it. Each block tells it of one record of
  those that went into its batch: a sample, at no cost for the others.
- That their sender rests: all that it reads is idle, so nobody needs to wait for it until it speaks again. Only the
  sender can know that. A silent sender may as well be a host that is down, whose records are still to come.
"""

from collections.abc import Sequence

from services.host.writer import Headers

BORN_HEADER = "stig-born-ms"
RESTS_HEADER = "stig-rests"
RESTS: Headers = [(RESTS_HEADER, b"1")]


def born_header(born_ms: int | None) -> Headers:
    """The header for blocks that came of a record written at this time."""
    return [(BORN_HEADER, b"%d" % born_ms)] if born_ms is not None else []


def read_born(headers: Sequence[tuple[str, bytes | None]]) -> int | None:
    """The time that a block's headers tell; None if they do not."""
    for name, value in headers:
        if name == BORN_HEADER and value is not None and value.isdigit():
            return int(value)
    return None


def rests(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    """Whether a block says that its sender rests."""
    return any(name == RESTS_HEADER for name, _ in headers)
