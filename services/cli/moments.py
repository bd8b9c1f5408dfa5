"""Times as people write them: `now`, `-15m`, or `2026-01-31T12:00:00` in UTC."""

import re
from datetime import UTC, datetime

import typer

UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def moment_ms(text: str, now_ms: int) -> int:
    """Milliseconds since 1970."""
    if text == "now":
        return now_ms
    back = re.fullmatch(r"-(\d+)([smhd])", text)
    if back is not None:
        return now_ms - int(back[1]) * UNITS_MS[back[2]]
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time; write now, -15m, or 2026-01-31T12:00:00") from None
    return int((found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp() * 1_000)
