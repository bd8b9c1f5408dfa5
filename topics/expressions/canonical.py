"""From the tree back to text: one spelling for each tree, and it parses to the same tree again.

Operators' identities are built on it.
"""

import re

from topics.expressions.tokens import ESCAPES, FOREIGN_WORDS, KEYWORDS
from topics.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Field,
    IsNull,
    Item,
    ListOf,
    Literal,
    Logic,
    Membership,
    Negative,
    Not,
    Tree,
)

_OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _SIGNED, _POSTFIX = range(8)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ESCAPED = {value: "\\" + letter for letter, value in ESCAPES.items()}


def canonical(tree: Tree) -> str:
    """The text of `tree`, with single spaces and no bracket that is not needed."""
    return _spelled(tree, _OR)


def _spelled(tree: Tree, place: int) -> str:
    level, text = _levelled(tree)
    return f"({text})" if level < place else text


def _levelled(tree: Tree) -> tuple[int, str]:  # noqa: PLR0911, PLR0912 - one case for each kind of part
    """How tightly the tree's outermost sign binds, and its text."""
    match tree:
        case Literal(value=value):
            return _literal(value)
        case Field(name=name):
            return _POSTFIX, _name(name)
        case Item(base=base, key=Literal(value=str(name))) if name:
            return _POSTFIX, f"{_spelled(base, _POSTFIX)}.{_member(name)}"
        case Item(base=base, key=key):
            return _POSTFIX, f"{_spelled(base, _POSTFIX)}[{canonical(key)}]"
        case ListOf(items=items):
            return _POSTFIX, f"[{_listed(items)}]"
        case Call(name=name, arguments=arguments):
            return _POSTFIX, f"{name}({_listed(arguments)})"
        case Negative(operand=operand):
            return _SIGNED, f"-{_spelled(operand, _SIGNED)}"
        case Arithmetic(op=op, left=left, right=right):
            level = _SUM if op in ("+", "-") else _PRODUCT
            return level, f"{_spelled(left, level)} {op} {_spelled(right, level + 1)}"
        case Not(operand=IsNull(operand=operand)):
            return _COMPARED, f"{_spelled(operand, _SUM)} is not null"
        case Not(operand=Membership(item=item, container=container)):
            return _COMPARED, f"{_spelled(item, _SUM)} not in {_spelled(container, _SUM)}"
        case Not(operand=operand):
            return _NOT, f"not {_spelled(operand, _NOT)}"
        case IsNull(operand=operand):
            return _COMPARED, f"{_spelled(operand, _SUM)} is null"
        case Comparison(op=sign, left=left, right=right):
            return _COMPARED, f"{_spelled(left, _SUM)} {sign} {_spelled(right, _SUM)}"
        case Membership(item=item, container=container):
            return _COMPARED, f"{_spelled(item, _SUM)} in {_spelled(container, _SUM)}"
        case Logic(op=word, operands=operands):
            level = _OR if word == "or" else _AND
            return level, f" {word} ".join(_spelled(operand, level + 1) for operand in operands)


def _listed(items: tuple[Tree, ...]) -> str:
    return ", ".join(map(canonical, items))


def _literal(value: bool | int | float | str | None) -> tuple[int, str]:
    match value:
        case None:
            return _POSTFIX, "null"
        case bool():
            return _POSTFIX, "true" if value else "false"
        case str():
            return _POSTFIX, "'" + _escaped(value, keep='"`') + "'"
    text = repr(value)
    return (_SIGNED if text.startswith("-") else _POSTFIX), text


def _name(name: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) and name not in KEYWORDS and name not in FOREIGN_WORDS
    return name if plain else "`" + _escaped(name, keep="\"'") + "`"


def _member(name: str) -> str:
    """A name after a dot, where keywords are plain."""
    return name if name in KEYWORDS else _name(name)


def _escaped(text: str, *, keep: str) -> str:
    return "".join(letter if letter in keep else _ESCAPED.get(letter, letter) for letter in text)
