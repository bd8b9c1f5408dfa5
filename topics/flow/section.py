"""Reading one mapping of a flow, key by key.

A getter returns the key's value, or notes what is wrong with it and returns a stand-in of the right type. So the
reading code has no error handling, goes on to the end, and finds every problem in one go; a flow with problems is never
used.
"""

import math
from collections.abc import Callable, Mapping, Sized
from typing import TypeVar, get_args

from topics.expressions.errors import nearest_word
from topics.flow.document import Value
from topics.flow.durations import format_duration, parse_duration
from topics.flow.limits import DURATION_MS_MAX
from topics.flow.problems import Path, Problems, one_of
from topics.flow.words import FIELD_PATH, Word

T = TypeVar("T")


def _as_list(value: Value) -> list[Value] | None:
    return value if isinstance(value, list) else None


def _as_mapping(value: Value) -> dict[str, Value] | None:
    return value if isinstance(value, dict) else None


def kind_of(value: Value) -> str:
    """What a value is, in the words of the file."""
    kinds: tuple[tuple[type, str], ...] = ((bool, "true or false"), (int, "a number"), (float, "a number"))
    for python_type, words in (*kinds, (str, "text"), (list, "a list"), (dict, "a mapping")):
        if isinstance(value, python_type):
            return words
    return "empty"


def shown(value: Value) -> str:
    """The value itself when it is short, else what it is."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float) and len(repr(value)) <= 60:
        return repr(value)
    return kind_of(value)


class Section:
    """One mapping at `path`. `what` is how messages call it: "a filter", "the flow"."""

    def __init__(self, value: Value, path: Path, problems: Problems, *, what: str, keys: tuple[str, ...]) -> None:
        self.path = path
        self.problems = problems
        self.what = what
        self.values: Mapping[str, Value] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict) and not problems.at(path):
            problems.add(path, f"{what} is {kind_of(value)}", expected=f"a mapping with the keys {', '.join(keys)}")
        self.is_mapping = isinstance(value, dict)
        free = set(keys) - self.values.keys()
        for key in self.values:
            if key not in keys and not problems.is_full:
                message = f"{what} has no key {key!r}"
                near = nearest_word(key, free)
                problems.add((*path, key), message, expected=one_of(keys), nearest=near, at="key")

    def has(self, key: str) -> bool:
        return key in self.values

    def wrong(self, key: str, message: str, *, expected: str | None = None, nearest: str | None = None) -> None:
        self.problems.add((*self.path, key), message, expected=expected, nearest=nearest)

    def missing(self, key: str, expected: str) -> None:
        if self.is_mapping:
            self.problems.add(self.path, f"{self.what} needs the key {key!r}", expected=expected, at="key")

    def get(self, key: str, expected: str, read: Callable[[Value], T | None], *, default: T | None, stand_in: T) -> T:
        """The value as `read` takes it. Without a default the key is required."""
        if key not in self.values:
            if default is None:
                self.missing(key, expected)
                return stand_in
            return default
        result = read(self.values[key])
        if result is None:
            self.wrong(key, f"is {shown(self.values[key])}", expected=expected)
            return stand_in
        return result

    def word(self, key: str, word: Word, *, default: str | None = None) -> str:
        def read(value: Value) -> str | None:
            return value if isinstance(value, str) and word.fits(value) else None

        return self.get(key, word.rule, read, default=default, stand_in="")

    def optional_word(self, key: str, word: Word) -> str | None:
        return self.word(key, word) if self.has(key) else None

    def choice(self, key: str, literal: object, default: str) -> str:
        """One of the words of a `Literal`."""
        choices: tuple[str, ...] = get_args(literal)
        value = self.values.get(key, default)
        if isinstance(value, str) and value in choices:
            return value
        near = nearest_word(value, choices) if isinstance(value, str) else None
        self.wrong(key, f"is {shown(value)}", expected=one_of(choices), nearest=near)
        return default

    def flag(self, key: str) -> bool:
        def read(value: Value) -> bool | None:
            return value if isinstance(value, bool) else None

        return self.get(key, "true or false", read, default=False, stand_in=False)

    def whole(self, key: str, *, minimum: int, maximum: int, default: int | None = None) -> int:
        def read(value: Value) -> int | None:
            whole = isinstance(value, int) and not isinstance(value, bool)
            return value if whole and minimum <= value <= maximum else None  # type: ignore[operator, return-value]

        return self.get(key, f"a whole number from {minimum:,} to {maximum:,}", read, default=default, stand_in=minimum)

    def number(self, key: str, expected: str, fits: Callable[[float], bool], *, default: float | None) -> float:
        def read(value: Value) -> float | None:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None
            return float(value) if math.isfinite(value) and fits(value) else None

        return self.get(key, expected, read, default=default, stand_in=1.0)

    def duration(self, key: str, *, default_ms: int | None = None, minimum_ms: int = 1) -> int:
        def read(value: Value) -> int | None:
            duration_ms = parse_duration(value) if isinstance(value, str) else None
            return duration_ms if duration_ms is not None and minimum_ms <= duration_ms <= DURATION_MS_MAX else None

        least = format_duration(minimum_ms)
        expected = f"a duration such as 250ms, 10s, 5m, 1h or 2d, from {least} to {format_duration(DURATION_MS_MAX)}"
        return self.get(key, expected, read, default=default_ms, stand_in=minimum_ms)

    def names(self, key: str, *, most: int, least: int = 1, word: Word = FIELD_PATH) -> tuple[str, ...]:
        """A list of names without repetition. It may be left out where none is needed."""
        none: list[Value] = []
        default = none if least == 0 else None
        items = self.get(key, "a list of names in brackets", _as_list, default=default, stand_in=none)
        self._check_count(key, items, "names", least, most)
        for position, item in enumerate(items):
            path = (*self.path, key, position)
            if not isinstance(item, str) or not word.fits(item):
                self.problems.add(path, f"is {shown(item)}", expected=word.rule)
            elif item in items[:position]:
                self.problems.add(path, f"{item!r} is named twice; keep one")
        return tuple(item for item in items if isinstance(item, str))

    def entries(self, key: str, expected: str, *, most: int, word: Word, least: int = 1) -> list[tuple[str, Value]]:
        """A mapping from names to whatever they mean. It may be left out where none is needed."""
        none: dict[str, Value] = {}
        items = self.get(key, expected, _as_mapping, default=none if least == 0 else None, stand_in=none)
        self._check_count(key, items, "entries", least, most)
        for name in items:
            if not word.fits(name):
                self.problems.add((*self.path, key, name), f"the name is {shown(name)}", expected=word.rule, at="key")
        return list(items.items())

    def _check_count(self, key: str, items: Sized, what: str, least: int, most: int) -> None:
        if self.values.get(key) is items and not least <= len(items) <= most:
            message = "is empty" if not items else f"has {len(items):,} of them"
            self.wrong(key, message, expected=f"{least} to {most:,} {what}")
