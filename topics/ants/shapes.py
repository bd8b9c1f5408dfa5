"""Shapes: values of the brain as plain lists, numbers and texts, and back again, strictly.

A shape follows from the annotations of a dataclass or named tuple: its fields in order, without their names. So nothing
has to be written twice, and a field that the brain adds travels by itself; the golden files show that the bytes have
changed, and `WIRE_VERSION` must then be raised. Unpacking accepts exactly what packing gives, and nothing else.
"""

import dataclasses
import math
import types
import typing
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import msgspec

from topics.messages.base import TEXT_LENGTH_MAX

T = TypeVar("T")

ITEMS_MAX = 4_096
"""In one list. The largest that a brain makes is a trail of 200 hosts."""
INTERNED_MAX = 256


class MisshapenError(ValueError):
    """Plain values that are not what their kind promises."""


class Shape(NamedTuple):
    """`unpack(pack(value)) == value`; unpack raises MisshapenError on everything else."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


Check = Callable[[Any], bool]
"""Whether a value's parts fit together."""


class Shapes:
    """Makes shapes. `interned` types travel as bytes of their own, so that a value seen before is not built again.

    Of `repeated` types equal neighbours in a list travel once, with their number. `tagged` says which types may stand
    where an annotation says Any, each with its number.
    """

    def __init__(
        self,
        *,
        checks: Mapping[type, Check],
        interned: frozenset[type],
        repeated: frozenset[type],
        tagged: Mapping[int, type[Any]],
    ) -> None:
        self._checks = checks
        self._interned = interned
        self._repeated = repeated
        self._tagged = tagged
        self._made: dict[Any, Shape] = {}

    def of(self, hint: Any) -> Shape:
        """The shape of an annotation."""
        if hint not in self._made:
            self._made[hint] = self._make(hint)
        return self._made[hint]

    def _make(self, hint: Any) -> Shape:
        if hint in _LEAVES:
            return _LEAVES[hint]
        if hint is Any:
            return tagged({number: (each, self.of(each)) for number, each in self._tagged.items()})
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            (inner,) = [each for each in arguments if each is not type(None)]
            return _optional(self.of(inner))
        if origin is tuple:
            return self._list(arguments)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return _enumerated(hint)
        shape = self._record(hint)
        return _interned(shape) if hint in self._interned else shape

    def _list(self, arguments: tuple[Any, ...]) -> Shape:
        parts = [self.of(each) for each in arguments if each is not Ellipsis]
        if Ellipsis not in arguments:
            return _pair(parts)
        return _runs(parts[0]) if arguments[0] in self._repeated else _many(parts[0])

    def _record(self, kind: type[Any]) -> Shape:
        hints = typing.get_type_hints(kind)
        if dataclasses.is_dataclass(kind):
            names = [field.name for field in dataclasses.fields(kind) if field.init]
        else:
            assert issubclass(kind, tuple), f"{kind} can't travel: it is no dataclass and no named tuple"
            names = list(kind.__annotations__)
        packs = [(name, self.of(hints[name]).pack) for name in names]
        unpacks = [self.of(hints[name]).unpack for name in names]
        fits = self._checks.get(kind)

        def pack(value: Any) -> list[Any]:
            return [pack_field(getattr(value, name)) for name, pack_field in packs]

        def unpack(plain: Any) -> Any:
            parts = _list(plain, len(unpacks))
            fields = [unpack_field(part) for unpack_field, part in zip(unpacks, parts, strict=True)]
            try:
                value = kind(*fields)
            except ValueError as fault:
                raise MisshapenError(f"{kind.__name__}: {fault}") from fault
            if fits is not None and not fits(value):
                raise MisshapenError(f"{kind.__name__}: its parts do not fit together")
            return value

        return Shape(pack, unpack)


def tagged(kinds: Mapping[int, tuple[type[Any], Shape]]) -> Shape:
    """One of several types, told apart by its number."""
    numbers = {kind: number for number, (kind, _) in kinds.items()}

    def pack(value: Any) -> list[Any]:
        number = numbers[type(value)]
        return [number, kinds[number][1].pack(value)]

    def unpack(plain: Any) -> Any:
        number, body = _list(plain, 2)
        if type(number) is not int or number not in kinds:
            raise MisshapenError(f"there is no kind {number!r}")
        return kinds[number][1].unpack(body)

    return Shape(pack, unpack)


def _list(plain: Any, length: int | None = None) -> list[Any]:
    if type(plain) is not list or len(plain) > ITEMS_MAX or length not in (None, len(plain)):
        raise MisshapenError("not a list of the right length")
    return plain


def _same(plain: Any) -> Any:
    return plain


def _exactly(kind: type[Any]) -> Callable[[Any], Any]:
    def unpack(plain: Any) -> Any:
        if type(plain) is not kind:
            raise MisshapenError(f"not {kind.__name__}, but {type(plain).__name__}")
        return plain

    return unpack


def _text(plain: Any) -> str:
    if type(plain) is not str or len(plain) > TEXT_LENGTH_MAX:
        raise MisshapenError("not a text of reasonable length")
    return plain


def _number(plain: Any) -> float:
    if type(plain) is not float or math.isnan(plain):
        raise MisshapenError("not a number")
    return plain


_LEAVES: dict[Any, Shape] = {
    bool: Shape(_same, _exactly(bool)),
    int: Shape(_same, _exactly(int)),
    float: Shape(float, _number),
    str: Shape(_same, _text),
}


def _optional(inner: Shape) -> Shape:
    return Shape(
        lambda value: None if value is None else inner.pack(value),
        lambda plain: None if plain is None else inner.unpack(plain),
    )


def _many(inner: Shape) -> Shape:
    pack, unpack = inner
    return Shape(
        lambda values: [pack(value) for value in values], lambda plain: tuple([unpack(each) for each in _list(plain)])
    )


def _runs(inner: Shape) -> Shape:
    """A list as runs of equal values: how many, and which, in turn."""

    def pack(values: tuple[Any, ...]) -> list[Any]:
        runs: list[Any] = []
        for value, equals in groupby(values):
            runs += (len(list(equals)), inner.pack(value))
        return runs

    def unpack(plain: Any) -> tuple[Any, ...]:
        runs = _list(plain)
        counts = runs[::2]
        if len(runs) % 2 or not all(type(count) is int and 0 < count <= ITEMS_MAX for count in counts):
            raise MisshapenError("not runs")
        if sum(counts) > ITEMS_MAX:
            raise MisshapenError("too many")
        values: list[Any] = []
        for count, each in zip(counts, runs[1::2], strict=True):
            values += [inner.unpack(each)] * count
        return tuple(values)

    return Shape(pack, unpack)


def _pair(parts: list[Shape]) -> Shape:
    def unpack(plain: Any) -> tuple[Any, ...]:
        return tuple(part.unpack(each) for part, each in zip(parts, _list(plain, len(parts)), strict=True))

    return Shape(lambda values: [part.pack(each) for part, each in zip(parts, values, strict=True)], unpack)


def _enumerated(kind: type[Enum]) -> Shape:
    def unpack(plain: Any) -> Enum:
        try:
            return kind(plain)
        except ValueError as fault:
            raise MisshapenError(str(fault)) from fault

    return Shape(lambda value: value.value, unpack)


def _interned(inner: Shape) -> Shape:
    """As bytes; the same bytes give the same object, with all that it has computed about itself since."""
    written: OrderedDict[int, tuple[Any, bytes]] = OrderedDict()  # by id; holding the value keeps its id its own
    seen: OrderedDict[bytes, Any] = OrderedDict()

    def pack(value: Any) -> bytes:
        found = written.get(id(value))
        if found is None:
            found = written[id(value)] = (value, msgspec.msgpack.encode(inner.pack(value)))
            if len(written) > INTERNED_MAX:
                written.popitem(last=False)
        return found[1]

    def unpack(plain: Any) -> Any:
        if type(plain) is not bytes:
            raise MisshapenError("not bytes")
        value = seen.get(plain)
        if value is None:
            try:
                value = inner.unpack(msgspec.msgpack.decode(plain))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
                raise MisshapenError(str(fault)) from fault
            seen[plain] = value
            if len(seen) > INTERNED_MAX:
                seen.popitem(last=False)
        return value

    return Shape(pack, unpack)
