"""What all commands print with: text and tables for people, JSON for programs, errors to the error stream."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import msgspec
import structlog
from rich.console import Console
from rich.text import Text

from services.logs import hide_in_text

log = structlog.get_logger(__name__)

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def busy(what: str) -> AbstractContextManager[object]:
    """Says on a terminal what takes its time; elsewhere nothing, not even the empty line that Rich would leave."""
    return errors.status(what) if errors.is_terminal else nullcontext()


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Says what long work is at: on a terminal in one line that changes, elsewhere in the log."""
    if errors.is_terminal:
        with errors.status(what) as status:
            yield status.update
    else:
        log.info(what)
        yield log.info


def show_error(what: str, remedy: str) -> None:
    """Says what went wrong, then what to do next."""
    errors.print(Text.assemble(("error: ", "bold red"), hide_in_text(what)), soft_wrap=True)
    errors.print(Text.assemble(("  next: ", "bold yellow"), hide_in_text(remedy)), soft_wrap=True)


def print_json(value: Any) -> None:
    """Prints one JSON object."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
    sys.stdout.flush()
