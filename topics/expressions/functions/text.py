"""Functions on text. Positions count from 0, as in `tags[0]`.

There are no regular expressions, because they can be made to run for ever, and what grows a text has a limit.
"""

from operator import index

from topics.expressions.functions.convert import to_string
from topics.expressions.functions.signature import Function
from topics.expressions.kinds import BOOL, CONTAINER, INT, LIST, SCALAR, STRING, WHOLE
from topics.expressions.limits import MAX_PARTS, MAX_TEXT


def _substring(text: str, start: int, length: int = MAX_TEXT) -> str:
    first, count = index(start), index(length)
    if count < 0:
        raise ValueError(length)
    if first < 0:
        first = max(len(text) + first, 0)
    return str.__getitem__(text, slice(first, first + count))


def _replace(text: str, old: str, new: str) -> str:
    times = str.count(text, old)
    if not old or len(text) + times * (len(new) - len(old)) > MAX_TEXT:
        raise ValueError(old)
    return text.replace(old, new)


def _split(text: str, separator: str) -> list[str]:
    return str.split(text, _text(separator), MAX_PARTS - 1)


def _text(value: str) -> str:
    """The value itself, if it is a text."""
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _concat(*values: str | float) -> str:
    texts = [value if isinstance(value, str) else to_string(value) for value in values]
    if sum(map(len, texts)) > MAX_TEXT:
        raise ValueError(len(texts))
    return "".join(texts)


# The methods are taken from `str` itself, so that nothing but a text gets through.
TEXT_FUNCTIONS = (
    Function("lower", (STRING,), STRING, str.lower, "lower(text)"),
    Function("upper", (STRING,), STRING, str.upper, "upper(text)"),
    Function("trim", (STRING,), STRING, str.strip, "trim(text): without white space at both ends"),
    Function("length", (CONTAINER,), INT, len, "length(text), length(list) or length(object)"),
    Function("contains", (STRING, STRING), BOOL, str.__contains__, "contains(text, part)"),
    Function("starts_with", (STRING, STRING), BOOL, str.startswith, "starts_with(text, start)"),
    Function("ends_with", (STRING, STRING), BOOL, str.endswith, "ends_with(text, end)"),
    Function("substring", (STRING, WHOLE, WHOLE), STRING, _substring, "substring(text, start, length)", optional=1),
    Function("replace", (STRING, STRING, STRING), STRING, _replace, "replace(text, old, new)"),
    Function("split", (STRING, STRING), LIST, _split, "split(text, separator): a list"),
    Function("concat", (SCALAR, SCALAR), STRING, _concat, "concat(a, b, ...): numbers as text", repeats=True),
)
