"""What is wrong with an expression: one `Problem` for each fault, all of them in one `ExpressionError`."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault. `column` is the 0-based offset in the text; `nearest` is a valid word close to the one found."""

    message: str
    column: int
    expected: str | None = None
    found: str | None = None
    nearest: str | None = None


class ExpressionError(ValueError):
    """The text is not an expression we accept. `problems` holds all that could be found in one go, leftmost first."""

    def __init__(self, text: str, problems: Iterable[Problem]) -> None:
        self.text = text
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.column))
        assert self.problems, text
        super().__init__("; ".join(f"at column {problem.column}: {problem.message}" for problem in self.problems))

    @property
    def message(self) -> str:
        """The leftmost problem in words."""
        return self.problems[0].message

    @property
    def column(self) -> int:
        """The 0-based offset of the leftmost problem."""
        return self.problems[0].column

    @property
    def expected(self) -> str | None:
        """What the leftmost problem's place asked for."""
        return self.problems[0].expected

    @property
    def nearest(self) -> str | None:
        """The valid word closest to the one at the leftmost problem."""
        return self.problems[0].nearest


def nearest_word(word: str, valid: Iterable[str]) -> str | None:
    """The valid word that `word` was probably meant to be, if any comes close (letter case aside)."""
    by_lower = {candidate.lower(): candidate for candidate in sorted(valid, reverse=True)}
    close = get_close_matches(word.lower(), sorted(by_lower), n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def did_you_mean(nearest: str | None) -> str:
    """The tail of a message that offers the nearest word."""
    return f"; did you mean {nearest}?" if nearest else ""
