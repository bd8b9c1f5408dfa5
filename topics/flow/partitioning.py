"""How the records of a stream are spread over partitions, followed through the operators.

Records with equal key fields are in the same partition. An operator that gathers records (aggregate, dedupe, join,
top_k, python with state) needs all records of one group in one partition, so the key fields must be among the fields
that it groups by.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, Self

Hashing = Literal["producer", "flow"]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """`fields`: the key fields, each under every name that carries its value. None: nothing is known of the key.

    `partitions` None: not known before the broker is asked. `hashing`: who chose the partition, the source's producer
    or this flow. `origin`: where it was chosen; streams of one origin always match, even when the count is not known.
    """

    fields: tuple[frozenset[str], ...] | None
    partitions: int | None
    hashing: Hashing
    origin: str

    @property
    def is_single(self) -> bool:
        """One partition holds everything, so every group is together."""
        return self.partitions == 1

    def gathers(self, by: Iterable[str]) -> bool:
        """Whether records with equal `by` are surely in one partition."""
        if self.is_single:
            return True
        names = frozenset(by)
        return bool(self.fields) and all(carriers & names for carriers in self.fields or ())

    def lost(self) -> Self:
        """After an operator that may have changed any field."""
        return replace(self, fields=None)

    def only(self, names: Iterable[str]) -> Self:
        """After an operator whose output has just these fields, unchanged."""
        kept = frozenset(names)
        return self.with_fields([names & kept for names in self.fields or ()])

    def carried(self, copies: Mapping[str, str]) -> Self:
        """After an operator whose output has just the fields `copies`, each a copy of the input field it maps to."""
        return self.with_fields([copied(names, copies) for names in self.fields or ()])

    def replaced(self, changed: Iterable[str], copies: Mapping[str, str]) -> Self:
        """After an operator that replaced or dropped the fields `changed`; `copies` are those that copy another one."""
        gone = tuple(changed)
        return self.with_fields(
            [
                frozenset(name for name in names if not _touched(name, gone)) | copied(names, copies)
                for names in self.fields or ()
            ]
        )

    def with_fields(self, fields: Sequence[Set[str]]) -> Self:
        """The same partitions with these key fields; if one of them has no name left, nothing is known of the key."""
        return replace(self, fields=tuple(map(frozenset, fields)) if fields and all(fields) else None)


def matched(left: Partitioning, right: Partitioning, on: tuple[tuple[str, str], ...]) -> bool:
    """Whether a left and a right record with equal `on` are surely in partitions of the same number."""
    if left.is_single and right.is_single:
        return True
    if not aligned(left, right) or not left.fields or not right.fields or len(left.fields) != len(right.fields):
        return False
    return all(
        any(a in left_names and b in right_names for a, b in on)
        for left_names, right_names in zip(left.fields, right.fields, strict=True)
    )


def aligned(one: Partitioning, other: Partitioning) -> bool:
    """Whether equal keys of the two streams are in partitions of the same number."""
    if one.origin == other.origin:
        return True
    return one.partitions is not None and one.partitions == other.partitions and one.hashing == other.hashing


def merged(inputs: tuple[Partitioning, ...]) -> Partitioning:
    """Of a union: what holds of every input."""
    first = inputs[0]
    partitions = first.partitions if all(p.partitions == first.partitions for p in inputs) else None
    origin = first.origin if all(p.origin == first.origin for p in inputs) else "+".join(p.origin for p in inputs)
    union = Partitioning(None, partitions, first.hashing, origin)
    fields = [p.fields for p in inputs if p.fields is not None and aligned(p, first)]
    if len(fields) < len(inputs) or len({len(names) for names in fields}) != 1:
        return union
    return union.with_fields([frozenset.intersection(*column) for column in zip(*fields, strict=True)])


def _touched(name: str, changed: tuple[str, ...]) -> bool:
    return any(name == other or name.startswith(f"{other}.") for other in changed)


def copied(names: Set[str], copies: Mapping[str, str]) -> frozenset[str]:
    """The output fields that carry a value after copying, if `names` carried it before."""
    found = set()
    for output, original in copies.items():
        for name in names:
            if name == original or name.startswith(f"{original}."):
                found.add(output + name[len(original) :])
    return frozenset(found)
