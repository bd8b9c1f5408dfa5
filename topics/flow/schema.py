"""What is known of a stream's fields.

A source's schema is open: it types the fields it names, and records may have more. Project, aggregate and join make
closed streams, whose fields are all known, so that reading another one is certainly a mistake.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from topics.expressions import FieldType, nearest_word
from topics.flow.problems import one_of


@dataclass(frozen=True, slots=True)
class Schema:
    """Types by dotted name. `open_below`: objects that may have members beside those named; `""` is the record."""

    fields: tuple[tuple[str, FieldType], ...] = ()
    open_below: frozenset[str] = frozenset()

    @classmethod
    def of(cls, fields: Mapping[str, FieldType], *, open_below: Iterable[str] = ()) -> Self:
        return cls(tuple(sorted(fields.items())), frozenset(open_below))

    @property
    def is_open(self) -> bool:
        return "" in self.open_below

    def type_of(self, path: str) -> FieldType | None:
        """None: there is certainly no such field."""
        types = dict(self.fields)
        if path in types:
            return types[path]
        if any(name.startswith(f"{path}.") for name in types):
            return "object"
        for parent in _parents(path):
            if parent in types and types[parent] not in ("object", "any"):
                return None
            if parent in types and not any(name.startswith(f"{parent}.") for name in types):
                return "any"
        return "any" if any(parent in self.open_below for parent in (*_parents(path), "")) else None

    def nearest(self, path: str) -> str | None:
        """The known field that was most likely meant."""
        return nearest_word(path, (name for name, _ in self.fields))

    def names(self) -> str:
        """For a message: the known fields, a few of them when there are many."""
        names = [name for name, _ in self.fields]
        return one_of([*names[:8], *(["..."] if len(names) > 8 else [])]) if names else "no field at all"

    def for_reading(self, paths: Iterable[tuple[str, ...]]) -> dict[str, FieldType]:
        """As `topics.expressions` takes it, closed: the fields at `paths`, or all if one of them cannot exist."""
        types: dict[str, FieldType] = {}
        for path in paths:
            if any("." in name for name in path):  # a name with a dot in it, which no schema can give a type
                if not self.is_open:
                    return {**dict(self.fields), **types}
                types[".".join(path)] = "any"
                continue
            dotted = ".".join(path)
            for name in (*_parents(dotted), dotted):
                found = self.type_of(name)
                if found is None:
                    return {**dict(self.fields), **types}
                types[name] = found
        return types

    def without(self, names: Iterable[str]) -> Self:
        gone = tuple(names)
        kept = {n: t for n, t in self.fields if not any(n == g or n.startswith(f"{g}.") for g in gone)}
        return self.of(kept, open_below=self.open_below)

    def plus(self, fields: Mapping[str, FieldType]) -> Self:
        """With these fields in the place of what had their names."""
        return self.of({**dict(self.without(fields).fields), **fields}, open_below=self.open_below)

    def below(self, name: str) -> Self:
        """The same fields as members of an object `name`."""
        fields: dict[str, FieldType] = {f"{name}.{path}": kind for path, kind in self.fields}
        return self.of({name: "object", **fields}, open_below=[f"{name}.{p}".rstrip(".") for p in self.open_below])


def merged_schemas(schemas: Iterable[Schema]) -> Schema:
    """Of a union: a field has a type only where all inputs agree."""
    every = tuple(schemas)
    names = {name for schema in every for name, _ in schema.fields}
    fields: dict[str, FieldType] = {}
    for name in names:
        types = {schema.type_of(name) for schema in every}
        only = types.pop()
        fields[name] = only if only is not None and not types else "any"
    return Schema.of(fields, open_below=frozenset().union(*(schema.open_below for schema in every)))


def _parents(path: str) -> tuple[str, ...]:
    parts = path.split(".")
    return tuple(".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
