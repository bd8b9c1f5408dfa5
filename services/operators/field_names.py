"""Names of fields: always text, also where the codec would take anything for one, as MessagePack does.

Keys and rankings are the JSON of values with their fields in order, which only text has. A name of another type would
come up in an operator, and end it with all records of its batch. All records are looked at at once, mostly at C speed,
and only where something is inside.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

_NAME = {str}
_INSIDE = {dict, list}


def odd_name(values: Iterable[dict[str, Any]]) -> str | None:
    """A name inside these objects that is not text, as Python writes it; None: there is none.

    The objects' own names are text. Takes no stack, however deeply they are nested.
    """
    level: Iterable[Iterable[Any]] = list(map(dict.values, values))
    while not _INSIDE.isdisjoint(map(type, chain.from_iterable(level))):
        inside = [each for each in chain.from_iterable(level) if type(each) is dict or type(each) is list]
        objects = [each for each in inside if type(each) is dict]
        if not _NAME.issuperset(map(type, chain.from_iterable(objects))):
            return repr(next(name for name in chain.from_iterable(objects) if type(name) is not str))
        level = [each.values() if type(each) is dict else each for each in inside]
    return None
