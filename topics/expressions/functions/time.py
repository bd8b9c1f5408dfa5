"""Functions on time: milliseconds since 1970 in UTC.

There is no now(): the same record gives the same result whenever it is read. The calendar is Gregorian, from year 1 to
9999; weekday() is 1 on Monday and 7 on Sunday.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from topics.expressions.functions.signature import Function
from topics.expressions.kinds import INT, NUMBER, STRING, TIME
from topics.expressions.tokens import DURATION_UNITS_MS, duration_ms

_SECOND_MS, _MINUTE_MS, _HOUR_MS, _DAY_MS = (DURATION_UNITS_MS[unit] for unit in ("s", "m", "h", "d"))
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_FORMAT = 100


def _ms(time: Any) -> int:
    """The whole milliseconds of a time; a fraction is cut towards the past."""
    if isinstance(time, int):
        return time
    if isinstance(time, float):
        return int(time // 1)
    raise TypeError(time)


def _date(time: Any) -> date:
    return date.fromordinal(_ms(time) // _DAY_MS + _EPOCH_DAY)


def _year(time: Any) -> int:
    return _date(time).year


def _month(time: Any) -> int:
    return _date(time).month


def _day(time: Any) -> int:
    return _date(time).day


# These run for each record: a plain integer is spared the call of _ms.


def _weekday(time: Any) -> int:
    ms: int = time if type(time) is int else _ms(time)
    return (ms // _DAY_MS + 3) % 7 + 1  # 1970 began on a Thursday


def _hour(time: Any) -> int:
    ms: int = time if type(time) is int else _ms(time)
    return ms // _HOUR_MS % 24


def _minute(time: Any) -> int:
    ms: int = time if type(time) is int else _ms(time)
    return ms // _MINUTE_MS % 60


def _second(time: Any) -> int:
    ms: int = time if type(time) is int else _ms(time)
    return ms // _SECOND_MS % 60


def _truncate(time: Any, step: Any) -> int:
    ms: int = time if type(time) is int else _ms(time)
    step_ms: int = step if type(step) is int and step > 0 else _step_ms(step)
    return ms - ms % step_ms


def _step_ms(step: Any) -> int:
    step_ms = duration_ms(step) if isinstance(step, str) else _ms(step)
    if step_ms <= 0:
        raise ValueError("a duration above 0 such as 1m")
    return step_ms


def _parse_time(text: str) -> int:
    if len(text) > _MAX_FORMAT:
        raise ValueError(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed = moment - _EPOCH
    return passed.days * _DAY_MS + passed.seconds * _SECOND_MS + passed.microseconds // 1_000


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ISO = "%Y-%m-%dT%H:%M:%S.%LZ"
_DIRECTIVES: dict[str, Callable[[date, int], str]] = {
    "%Y": lambda day, ms: f"{day.year:04}",
    "%m": lambda day, ms: f"{day.month:02}",
    "%d": lambda day, ms: f"{day.day:02}",
    "%j": lambda day, ms: f"{day.timetuple().tm_yday:03}",
    "%H": lambda day, ms: f"{ms // _HOUR_MS % 24:02}",
    "%M": lambda day, ms: f"{ms // _MINUTE_MS % 60:02}",
    "%S": lambda day, ms: f"{ms // _SECOND_MS % 60:02}",
    "%L": lambda day, ms: f"{ms % 1_000:03}",
    "%a": lambda day, ms: _DAYS[day.weekday()],
    "%b": lambda day, ms: _MONTHS[day.month - 1],
    "%%": lambda day, ms: "%",
}


@lru_cache(maxsize=256)
def _pieces(layout: str) -> tuple[str, ...]:
    """The layout cut into directives and single characters. Ours, because strftime has widths that fill the memory."""
    if len(layout) > _MAX_FORMAT:
        raise ValueError(f"a layout of at most {_MAX_FORMAT} characters")
    pieces, at = [], 0
    while at < len(layout):
        piece = layout[at : at + 2] if layout[at] == "%" else layout[at]
        if piece[0] == "%" and piece not in _DIRECTIVES:
            raise ValueError(f"a layout of text and {' '.join(_DIRECTIVES)}")
        pieces.append(piece)
        at += len(piece)
    return tuple(pieces)


def _format_time(time: Any, layout: str = _ISO) -> str:
    day, ms = _date(time), _ms(time)
    return "".join(_DIRECTIVES[piece](day, ms) if piece[0] == "%" else piece for piece in _pieces(layout))


TIME_FUNCTIONS = (
    Function("year", (NUMBER,), INT, _year, "year(time)"),
    Function("month", (NUMBER,), INT, _month, "month(time)"),
    Function("day", (NUMBER,), INT, _day, "day(time): of the month"),
    Function("weekday", (NUMBER,), INT, _weekday, "weekday(time): Monday is 1"),
    Function("hour", (NUMBER,), INT, _hour, "hour(time)"),
    Function("minute", (NUMBER,), INT, _minute, "minute(time)"),
    Function("second", (NUMBER,), INT, _second, "second(time)"),
    Function(
        "truncate", (NUMBER, NUMBER | STRING), TIME, _truncate, "truncate(time, 1m)", wide=True, literals={1: _step_ms}
    ),
    Function("parse_time", (STRING,), TIME, _parse_time, "parse_time('2026-01-31T12:00:00Z'): milliseconds"),
    Function(
        "format_time", (NUMBER, STRING), STRING, _format_time, "format_time(time, '%Y-%m-%d')", 1, literals={1: _pieces}
    ),
)
