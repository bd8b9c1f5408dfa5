"""Where records must change partition before an operator, and why.

An operator that gathers records needs all of a group in one partition; a join needs equal keys of both sides in
partitions of the same number. Where that is not sure, the edge into the operator re-keys. Decision 0066 tells when it
is sure.
"""

from collections.abc import Sequence

from topics.flow.describe import partition_count
from topics.flow.graph import Rekey
from topics.flow.partitioning import Partitioning, matched
from topics.flow.problems import Problems
from topics.flow.specs import Aggregate, Dedupe, Join, OperatorSpec, Python, TopK

DEFAULT_PARTITIONS = 4
"""Of a re-keyed stream when nothing upstream says how many; the same everywhere, so that two such streams match."""


def rekeys(name: str, spec: OperatorSpec, inputs: Sequence[Partitioning]) -> tuple[Rekey | None, ...]:
    """For each port the re-key that its edge needs, or None."""
    match spec:
        case Aggregate() | Dedupe():
            return (_gathered(name, "groups by", spec.by, spec.input, inputs[0]),)
        case Python() if spec.state:
            return (_gathered(name, "keeps state by", spec.by, spec.input, inputs[0]),)
        case TopK():
            return (_gathered(name, "ranks by", spec.per, spec.input, inputs[0]),)
        case Join():
            return _joined(name, spec, inputs[0], inputs[1])
    return (None,) * len(inputs)


def check_self_join(name: str, spec: OperatorSpec, needed: Sequence[Rekey | None], problems: Problems) -> None:
    """Both sides of a join may be one stream, but an edge topic, which is named by its two ends, has one key only."""
    path = ("operators", name)
    if not isinstance(spec, Join) or spec.left != spec.right or problems.under(path):
        return
    if len({rekey.by for rekey in needed if rekey is not None}) > 1:
        message = (
            f"{spec.left!r} is read on both sides by different fields; let one side read it through a filter or map"
        )
        problems.add((*path, "right"), message)


def _gathered(name: str, does: str, by: tuple[str, ...], stream: str, given: Partitioning) -> Rekey | None:
    if given.gathers(by):
        return None
    if not by:
        what = "ranks all records together" if does == "ranks by" else "takes all records as one group"
        return Rekey((), 1, f"{name} {what}, but {stream} is {described(given)}")
    return Rekey(
        by, given.partitions or DEFAULT_PARTITIONS, f"{name} {does} {', '.join(by)}, but {stream} is {described(given)}"
    )


def _joined(name: str, spec: Join, left: Partitioning, right: Partitioning) -> tuple[Rekey | None, Rekey | None]:
    if matched(left, right, spec.on):
        return None, None
    # A side that this flow keyed by `on` stays; the other one follows it, with the same order of fields and count.
    for anchor, side in ((left, 0), (right, 1)):
        pairs = _pairs(anchor, spec.on, side)
        if pairs is not None:
            assert anchor.partitions is not None
            other = 1 - side
            stream, given = ((spec.left, left), (spec.right, right))[other]
            by = tuple(pair[other] for pair in pairs)
            wanted = f"keyed by {', '.join(by)} in {partition_count(anchor.partitions)}"
            reason = f"{name} needs {stream} {wanted} like its other side, but {stream} is {described(given)}"
            rekey = Rekey(by, anchor.partitions, reason)
            return (None, rekey) if side == 0 else (rekey, None)
    count = max((p.partitions for p in (left, right) if p.partitions), default=None)
    reason = _mismatch(name, spec, left, right)
    partitions = count or DEFAULT_PARTITIONS
    return (
        Rekey(tuple(a for a, _ in spec.on), partitions, reason),
        Rekey(tuple(b for _, b in spec.on), partitions, reason),
    )


def _pairs(side: Partitioning, on: tuple[tuple[str, str], ...], index: int) -> list[tuple[str, str]] | None:
    """The `on` pairs that this side is keyed by, in the order of its key, if this flow keyed it so."""
    if side.hashing != "flow" or not side.fields or side.partitions is None:
        return None
    pairs = [next((pair for pair in on if pair[index] in names), None) for names in side.fields]
    return [pair for pair in pairs if pair is not None] if all(pairs) else None


def _mismatch(name: str, spec: Join, left: Partitioning, right: Partitioning) -> str:
    on = ", ".join(a if a == b else f"{a} = {b}" for a, b in spec.on)
    if left.hashing != right.hashing:
        why = "one side was keyed by its producer and the other by this flow, which may choose partitions differently"
    else:
        why = f"{spec.left} is {described(left)} and {spec.right} is {described(right)}"
    return f"{name} joins on {on}, but {why}"


def described(given: Partitioning) -> str:
    """In words, to follow "is"."""
    count = f" in {partition_count(given.partitions)}" if given.partitions else ""
    if not given.fields:
        return f"keyed by no known field{count}"
    unknown = "" if given.partitions else ", in as many partitions as its topic has"
    return f"keyed by {', '.join(min(names) for names in given.fields)}{count}{unknown}"
