"""The fields that records are said to have, ready for look-up by path.

Types are given by dotted name. A schema is closed: a field that it doesn't name is a mistake. Inside a field of type
object anything goes, unless the schema names some of its members as well (`left.id: string`); then these are all.
"""

from collections import defaultdict

from topics.expressions.errors import Problem, did_you_mean, nearest_word
from topics.expressions.kinds import ANY, OBJECT, Kinds, Schema, kinds_of_type


class SchemaIndex:
    """Kinds by path, and the names that stand directly below each path."""

    def __init__(self, schema: Schema | None) -> None:
        self._kinds = {name: kinds_of_type(field_type) for name, field_type in (schema or {}).items()}
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        for dotted in self._kinds:
            path = dotted.split(".")
            for depth, name in enumerate(path):
                self._members[".".join(path[:depth])].add(name)

    def kinds(self, path: tuple[str, ...], *, column: int) -> Kinds | Problem | None:
        """The kinds of the field at `path`; a Problem if there is none; None where the schema has nothing to say."""
        above, dotted = ".".join(path[:-1]), ".".join(path)
        if dotted in self._kinds:
            return self._kinds[dotted]
        if dotted in self._members:
            return OBJECT
        if above not in self._members:
            return None if above else ANY
        known = self._members[above]
        nearest = nearest_word(path[-1], known)
        expected = "one of " + ", ".join(sorted(known)[:8]) + (", ..." if len(known) > 8 else "")
        message = f"there is no field {dotted}{did_you_mean(nearest)}" + ("" if nearest else f" (expected {expected})")
        return Problem(message, column, expected, path[-1], nearest)
