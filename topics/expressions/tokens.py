"""From text to tokens. A token carries its column and its value: numbers and texts decoded, durations in ms."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from topics.expressions.errors import ExpressionError, Problem
from topics.expressions.limits import INT_MAX, MAX_LENGTH

KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false"})

# Habits from other languages that would otherwise be read as the name of a field that is never there.
FOREIGN_WORDS = {"None": "null", "nil": "null", "undefined": "null"} | {
    variant: word for word in KEYWORDS for variant in (word.upper(), word.capitalize())
}
FOREIGN_SIGNS = {
    "=": "==",
    "===": "==",
    "<>": "!=",
    "!==": "!=",
    "&&": "and",
    "||": "or",
    "!": "not",
    "**": "power(a, b)",
    ":=": "==",
    "?": "if(condition, then, else)",
    "|": "concat(a, b)",
}

DURATION_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "`": "`"}

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<number>(?:[0-9](?:_?[0-9])*)?\.?[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9]+)?)(?P<unit>[A-Za-z_][A-Za-z0-9_]*)?
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quote>['"`])
    |(?P<sign>===|!==|//|\*\*|==|!=|<=|>=|<>|&&|\|\||:=|[-+*/%<>()\[\],.=!?|])""",
    re.VERBOSE,
)
_PLAIN_TEXT = {quote: re.compile(rf"[^{quote}\\]+") for quote in "'\"`"}


class TokenKind(Enum):
    """What a token is to the parser."""

    NUMBER = auto()
    TEXT = auto()
    NAME = auto()
    KEYWORD = auto()
    SIGN = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `value` is the decoded number or text, or the word or sign itself; `end` is the column after it."""

    kind: TokenKind
    value: int | float | str
    column: int
    end: int
    quoted: bool = False

    @property
    def shown(self) -> str:
        """The token as an error message names it."""
        return "the end" if self.kind is TokenKind.END else repr(self.value)


def tokenize(text: str) -> list[Token]:
    """All tokens of `text` with an END token last; raises ExpressionError at the first character that fits nowhere."""
    if len(text) > MAX_LENGTH:
        expected = f"at most {MAX_LENGTH} characters"
        message = f"the expression has {len(text)} characters; {expected} are allowed: use several operators"
        raise ExpressionError(text[:80], [Problem(message, MAX_LENGTH, expected, f"{len(text)} characters")])
    tokens: list[Token] = []
    column = 0
    while column < len(text):
        found = _TOKEN.match(text, column)
        if found is None:
            raise _refusal(
                text, column, f"{text[column]!a} has no meaning here; a name with such letters goes in `backticks`"
            )
        if found["space"]:
            column = found.end()
            continue
        if found["quote"]:
            token = _quoted(text, column)
        elif found["number"]:
            token = _number(text, found)
        elif found["word"]:
            token = _word(text, found)
        else:
            token = Token(TokenKind.SIGN, found["sign"], column, found.end())
        tokens.append(token)
        column = token.end
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens


def duration_ms(text: str) -> int:
    """The milliseconds of a duration such as `10s` or `5m`; ValueError says what was expected."""
    found = re.fullmatch(r"([0-9]{1,15})([a-z]+)", text)
    if found is None or found[2] not in DURATION_UNITS_MS:
        raise ValueError(f"a duration such as '10s' (units {', '.join(DURATION_UNITS_MS)})")
    return int(found[1]) * DURATION_UNITS_MS[found[2]]


def _number(text: str, found: re.Match[str]) -> Token:
    digits, unit = found["number"].replace("_", ""), found["unit"]
    value: int | float
    if unit is not None:
        if unit not in DURATION_UNITS_MS or not digits.isdecimal():
            units = ", ".join(DURATION_UNITS_MS)
            message = f"{found[0]!r} is neither a number nor a duration (whole number and unit: {units})"
            raise _refusal(text, found.start(), message, expected="a number or a duration")
        value = int(digits) * DURATION_UNITS_MS[unit]
    else:
        value = int(digits) if digits.isdecimal() else float(digits)
    if abs(value) > (INT_MAX if isinstance(value, int) else 1.7976931348623157e308):
        raise _refusal(
            text, found.start(), f"the number is too large; whole numbers go to {INT_MAX}", expected="a number"
        )
    return Token(TokenKind.NUMBER, value, found.start(), found.end())


def _word(text: str, found: re.Match[str]) -> Token:
    word = found["word"]
    if word in FOREIGN_WORDS:
        ours = FOREIGN_WORDS[word]
        message = f"write {ours} instead of {word} (a field of this name: `{word}`)"
        raise _refusal(text, found.start(), message, expected=ours, nearest=ours)
    return Token(TokenKind.KEYWORD if word in KEYWORDS else TokenKind.NAME, word, found.start(), found.end())


def _quoted(text: str, column: int) -> Token:
    quote = text[column]
    pieces: list[str] = []
    at = column + 1
    while at < len(text) and text[at] != quote:
        plain = _PLAIN_TEXT[quote].match(text, at)
        if plain:
            pieces.append(plain[0])
            at = plain.end()
        else:
            piece, at = _escape(text, at)
            pieces.append(piece)
    if at >= len(text):
        raise _refusal(text, column, f"the text is not closed: a {quote} is missing at its end", expected=quote)
    value = "".join(pieces)
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise _refusal(text, column, "half of a surrogate pair is no character", expected="a character")
    if quote == "`":
        if not value:
            raise _refusal(text, column, "a field's name can't be empty", expected="a name")
        return Token(TokenKind.NAME, value, column, at + 1, quoted=True)
    return Token(TokenKind.TEXT, value, column, at + 1)


def _escape(text: str, at: int) -> tuple[str, int]:
    """The character that the escape at `at` stands for, and where the text goes on."""
    letter = text[at + 1 : at + 2]
    if letter in ESCAPES:
        return ESCAPES[letter], at + 2
    code = text[at + 2 : at + 6]
    if letter == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", code):
        return chr(int(code, 16)), at + 6
    message = rf"unknown escape {text[at : at + 2]}; known are \n \t \r \\ \' \" \` \uXXXX"
    raise _refusal(text, at, message, expected="a known escape")


def _refusal(
    text: str, column: int, message: str, *, expected: str | None = None, nearest: str | None = None
) -> ExpressionError:
    return ExpressionError(text, [Problem(message, column, expected, text[column : column + 20], nearest)])
