"""What can be wrong with a flow, where, and how to say it.

A check notes a `Problem` under the key path it concerns and goes on, so that one run finds them all. Only at the end
are paths turned into lines and columns (`topics.flow.document` knows them); a flow built in Python has paths alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Path = tuple[str | int, ...]
"""Keys and list positions from the top of the file: `("operators", "tcp", "where")`."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something stands in a file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `offset` counts characters into the text at `path`, for a fault inside an expression."""

    path: Path
    message: str
    expected: str | None = None
    nearest: str | None = None
    at: Literal["key", "value"] = "value"
    offset: int | None = None
    place: Place | None = None

    def __str__(self) -> str:
        text = self.message
        if self.expected and self.expected not in text and "did you mean" not in text:
            text += f"; expected {self.expected}"
        if self.nearest and "did you mean" not in text:
            text += f"; did you mean {self.nearest!r}?"
        return f"{format_path(self.path)}: {text}" if self.path else text


PROBLEMS_MAX = 1_000
"""Nobody reads more of them at once."""


class Problems:
    """What the checks of one flow have found so far."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(
        self,
        path: Path,
        message: str,
        *,
        expected: str | None = None,
        nearest: str | None = None,
        at: Literal["key", "value"] = "value",
        offset: int | None = None,
        place: Place | None = None,
    ) -> None:
        if not self.is_full:
            self.found.append(Problem(path, message, expected, nearest, at, offset, place))

    @property
    def is_full(self) -> bool:
        """No more are taken."""
        return len(self.found) >= PROBLEMS_MAX

    def at(self, path: Path) -> bool:
        """Whether something is wrong with just this value."""
        return any(problem.path == path for problem in self.found)

    def under(self, path: Path) -> bool:
        """Whether something at this path or below it is wrong."""
        return any(problem.path[: len(path)] == path for problem in self.found)


class FlowError(Exception):
    """A flow that cannot run, with everything that is wrong with it. `str()` of it shows the lines with a caret."""

    def __init__(self, problems: Sequence[Problem], *, filename: str = "<flow>", text: str = "") -> None:
        self.problems = tuple(problems)
        self.filename = filename
        self.text = text
        super().__init__(render(self.problems, filename=filename, text=text))


def render(problems: Sequence[Problem], *, filename: str, text: str = "") -> str:
    """One paragraph a problem: `file:line:column: key: what`, then the line of the file with a caret at the fault."""
    lines = text.split("\n")
    shown = [_paragraph(problem, filename, lines) for problem in problems[:_PROBLEMS_SHOWN_MAX]]
    if len(problems) > len(shown):
        shown.append(f"{filename}: and {len(problems) - len(shown):,} more problems")
    return "\n".join(shown)


def one_of(words: Sequence[str]) -> str:
    """For what was expected."""
    return words[0] if len(words) == 1 else f"one of {', '.join(words)}"


def format_path(path: Path) -> str:
    """`operators.traffic.by[1]`"""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


_LINE_SHOWN_MAX = 160
_PROBLEMS_SHOWN_MAX = 100


def _paragraph(problem: Problem, filename: str, lines: Sequence[str]) -> str:
    if problem.place is None:
        return f"{filename}: {problem}"
    line, column = problem.place.line, problem.place.column
    head = f"{filename}:{line}:{column}: {problem}"
    if line > len(lines):
        return head
    # A long line is shown from a little before the fault, so that the caret stays on the screen.
    start = max(0, column - _LINE_SHOWN_MAX // 2) if len(lines[line - 1]) > _LINE_SHOWN_MAX else 0
    shown = lines[line - 1][start : start + _LINE_SHOWN_MAX]
    margin = f"{line:>5} | "
    indent = "".join("\t" if character == "\t" else " " for character in shown[: column - 1 - start])
    return f"{head}\n{margin}{shown}\n{' ' * (len(margin) - 2)}| {indent}^"
