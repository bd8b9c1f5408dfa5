"""What a bench command prints can be read in an ordinary terminal."""

import io

from rich.console import Console

from services.cli.bench import table
from services.lab.results import Row, results


def test_figures_are_whole_in_a_narrow_terminal() -> None:
    """The words of a measure wrap; a figure that is cut off is none."""
    row = Row.of("a measure with a name that is longer than " + "eighty columns " * 5, [1_234_567, 7_654_321], "rows/s")
    printed = io.StringIO()
    Console(file=printed, width=80).print(table(results("stigmergy bench it", [row], seeds=[])))
    assert {"4,444,444", "1,234,567", "7,654,321", "rows/s"} <= set(printed.getvalue().split())


def test_a_small_share_keeps_its_digits() -> None:
    """Half a per cent must not be read as one."""
    printed = io.StringIO()
    row = Row.of("share of ants", [0.0051], "share")
    Console(file=printed, width=80).print(table(results("stigmergy bench it", [row], seeds=[])))
    assert "0.0051" in printed.getvalue()
