"""Spans of time as people write them: `250ms`, `10s`, `5m`, `1h`, `2d`."""

import re

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

_PATTERN = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)")


def parse_duration(text: str) -> int | None:
    """Milliseconds, or None if the text is not one whole number with one unit."""
    match = _PATTERN.fullmatch(text)
    return int(match[1]) * UNITS_MS[match[2]] if match else None


def format_duration(duration_ms: int) -> str:
    """The shortest text that `parse_duration` reads back to the same number."""
    for unit in sorted(UNITS_MS, key=UNITS_MS.__getitem__, reverse=True):
        if duration_ms % UNITS_MS[unit] == 0 and duration_ms >= UNITS_MS[unit]:
            return f"{duration_ms // UNITS_MS[unit]}{unit}"
    return f"{duration_ms}s"
