"""What kinds of values a part of an expression can have, as far as the text and the schema tell.

A set of kinds is what could come out; every operation may also give null at run time, which is left unsaid except
where null is all that is known. A fault is certain when the set that arrives and the set that is accepted have
nothing in common.
"""

from collections.abc import Mapping
from typing import Final
from typing import Literal as OneOf

Kind = OneOf["null", "bool", "int", "float", "time", "string", "list", "object"]
Kinds = frozenset[Kind]
FieldType = OneOf["int", "float", "string", "bool", "time", "list", "object", "any"]
Schema = Mapping[str, FieldType]
"""Field types by dotted name. A field of type object is open inside unless the schema names one of its members too."""

NULL: Final[Kinds] = frozenset({"null"})
BOOL: Final[Kinds] = frozenset({"bool"})
INT: Final[Kinds] = frozenset({"int"})
FLOAT: Final[Kinds] = frozenset({"float"})
TIME: Final[Kinds] = frozenset({"time"})
STRING: Final[Kinds] = frozenset({"string"})
LIST: Final[Kinds] = frozenset({"list"})
OBJECT: Final[Kinds] = frozenset({"object"})
WHOLE: Final[Kinds] = INT | TIME | BOOL
NUMBER: Final[Kinds] = WHOLE | FLOAT
"""True counts as 1 and false as 0 wherever a number is wanted."""
SCALAR: Final[Kinds] = NUMBER | STRING
ORDERED: Final[Kinds] = NUMBER | STRING | LIST
CONTAINER: Final[Kinds] = LIST | STRING | OBJECT
ANY: Final[Kinds] = SCALAR | CONTAINER | NULL

_OF_FIELD_TYPE: dict[FieldType, Kinds] = {
    "int": INT,
    "float": INT | FLOAT,  # JSON writes 2.0 as 2
    "string": STRING,
    "bool": BOOL,
    "time": TIME,
    "list": LIST,
    "object": OBJECT,
    "any": ANY,
}


def kinds_of_type(field_type: FieldType) -> Kinds:
    """The kinds that a field of this declared type can have."""
    return _OF_FIELD_TYPE[field_type]


def kinds_of_value(value: object) -> Kinds:
    """The kind of a constant."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
    assert isinstance(value, str), value
    return STRING


def field_type(kinds: Kinds) -> FieldType:
    """The narrowest declared type that holds all of these kinds."""
    known = kinds - NULL
    for candidate, held in _OF_FIELD_TYPE.items():
        if known and known <= held:
            return candidate
    return "int" if known and known <= INT | TIME else "any"


def shown(kinds: Kinds) -> str:
    """The kinds as an error message names them."""
    if kinds >= ANY - NULL:
        return "any value"
    for name, together in (("number", NUMBER), ("whole number", WHOLE)):
        if kinds >= together:
            return " or ".join([name, *sorted(kinds - together)])
    return " or ".join(sorted(kinds))


def comparable(left: Kinds, right: Kinds) -> bool:
    """Whether values of these kinds can be equal at all, or stand in an order."""
    return bool(left & right) or (bool(left & NUMBER) and bool(right & NUMBER))
