"""Rows: what a grouping operator gives out for a group: the fields that it is grouped by, and the record key.

A dotted field comes out as it came in, nested, so that the same name reads it again.
"""

from collections.abc import Sequence
from typing import Any

from services.operators.batch import Value
from services.operators.keys import group_values, key_bytes


class Rows:
    """From group keys (`keys.group_reader`) back to fields."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = [path.split(".") for path in paths]
        self._names = list(paths) if all(len(path) == 1 for path in self._paths) else None
        self._only = paths[0] if self._names is not None and len(paths) == 1 else None

    def fields(self, group: Any) -> Value:
        """The fields that a group stands for, as a new object."""
        if self._only is not None and type(group) is str:
            return {self._only: group}
        values = _values(group)
        if self._names is not None:
            return dict(zip(self._names, values, strict=True))
        row: Value = {}
        for path, value in zip(self._paths, values, strict=True):
            inner: Any = row
            for name in path[:-1]:
                inner = inner.setdefault(name, {}) if isinstance(inner, dict) else None
            if isinstance(inner, dict):  # Else `a` and `a.b` are both asked for, and `a` has no fields.
                inner[path[-1]] = value
        return row


def group_key(group: Any) -> bytes:
    """The Kafka key of a group's rows."""
    return group.encode() if type(group) is str else key_bytes(_values(group))


def _values(group: Any) -> tuple[Any, ...]:
    if type(group) is tuple and bytes not in map(type, group):
        return group
    return group_values(group)
