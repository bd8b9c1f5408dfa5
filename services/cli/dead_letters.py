"""`stigmergy dead-letters`: look at the records that a flow could not process, and send them again."""

import time
from collections import deque
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.options import AsJson, HomeOption
from services.cli.screen import console, print_json
from services.registry.changes import flow_of
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from services.setaside.bookmark import read_bookmark
from services.setaside.letters import Letter, read_letters
from services.setaside.replay import Choice, Original, Replay, choose, portions

app = typer.Typer(help="Look at the records that a flow could not process, and send them again.", no_args_is_help=True)

FlowName = Annotated[str, typer.Argument(help="The flow's name.")]
ERROR_SHOWN_MAX = 80
LOOK_BACK_LETTERS = 10_000
"""The letters of one record are not further apart than this."""


@app.command("list")
def list_letters(
    flow: FlowName,
    limit: Annotated[int, typer.Option(min=1, help="Show only the newest.")] = 50,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """List a flow's dead letters: number, origin, operator, error."""
    address = _address(bootstrap, home, flow)
    count, shown = 0, deque[Letter](maxlen=limit)
    for each in read_letters(address, flow):
        count += 1
        shown.append(each)
    if as_json:
        print_json({"flow": flow, "count": count, "letters": [_values(each) for each in shown]})
        return
    if not count:
        console.print(f"{flow} has no dead letters.")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("number", "origin", "operator", "failed", "error"):
        table.add_column(column, justify="right" if column == "number" else "left", no_wrap=column != "error")
    for each in shown:
        table.add_row(*_cells(each))
    console.print(table)
    if count > len(shown):
        console.print(f"[dim]{count - len(shown)} older ones are not shown; see them with --limit[/dim]")


@app.command()
def show(
    flow: FlowName,
    number: Annotated[int, typer.Argument(min=0, help="The letter's number, as list shows it.")],
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Show one dead letter whole: error, origin, key, value, headers."""
    (each,) = _chosen(_address(bootstrap, home, flow), flow, [number])
    if as_json:
        print_json(_values(each))
        return
    for name, value in _values(each).items():
        console.print(Text.assemble((f"{name:<10}", "bold"), str(value)), soft_wrap=True)


@app.command()
def replay(
    flow: FlowName,
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Only these.", show_default="all not yet replayed")
    ] = None,
    *,
    again: Annotated[bool, typer.Option("--again", help="Also those that were replayed before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")] = False,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Send the original records of dead letters to their origin topics again, each once."""
    address = _address(bootstrap, home, flow)
    sender = None if dry_run else Replay(address, flow)  # before the bookmark is read: another may be under way
    bookmark = read_bookmark(address, flow)
    if numbers:
        choices = choose(address, _chosen(address, flow, numbers))
    elif again:
        choices = choose(address, read_letters(address, flow))
    else:
        letters = read_letters(address, flow, starts=lambda at: bookmark - LOOK_BACK_LETTERS)
        choices = choose(address, letters, first=bookmark)
    verb = "would be sent" if dry_run else "sent"
    sent: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for portion in portions(choices):
        if sender is not None:
            sender.send(portion, bookmark_at=None if numbers else max(bookmark, portion[-1].number + 1))
        for each in portion:
            if isinstance(each, Original):
                sent.append({"number": each.number, "origin": each.origin})
            else:
                skipped.append({"number": each.number, "why": each.why})
            if not as_json:
                console.print(_told(each, verb), soft_wrap=True)
    if as_json:
        print_json({"flow": flow, "sent": [] if dry_run else sent, "dry_run": dry_run, "skipped": skipped})
    else:
        some = f"{len(sent)} {verb}, {len(skipped)} not"
        console.print(some if sent or skipped else "There is nothing to replay.")


def _told(choice: Choice, verb: str) -> Text:
    if isinstance(choice, Original):
        at = choice.origin
        place = f"{at.topic}/{at.partition}, where it was at offset {at.offset}"
        return Text(f"letter {choice.number}: {verb} to {place}")
    return Text.assemble((f"letter {choice.number}: not sent; ", "yellow"), choice.why)


def _address(bootstrap: str | None, home: Any, flow: str) -> str:
    address = bootstrap_of(bootstrap, home)
    flow_of(read_registry(address), flow)
    return address


def _chosen(address: str, flow: str, numbers: list[int]) -> list[Letter]:
    """The letters of these numbers, in order. Raises RegistryError if one is not there."""
    wanted = set(numbers)
    found = [each for each in _from(address, flow, min(wanted)) if each.number in wanted]
    if missing := sorted(wanted - {each.number for each in found}):
        raise RegistryError(
            f"{flow} has no dead letter {', '.join(map(str, missing))}",
            f"see them with stigmergy dead-letters list {flow}",
        )
    return found


def _from(address: str, flow: str, first: int) -> Iterator[Letter]:
    return read_letters(address, flow, starts=lambda at: first)


def _cells(each: Letter) -> tuple[str, ...]:
    if each.letter is None:
        return str(each.number), "-", "-", "-", f"unreadable: {each.unreadable}"
    letter = each.letter
    error = letter.error if len(letter.error) <= ERROR_SHOWN_MAX else letter.error[: ERROR_SHOWN_MAX - 1] + "…"
    failed = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(letter.failed_ms / 1_000))
    origin = f"{letter.origin.topic}/{letter.origin.partition}/{letter.origin.offset}"
    return str(each.number), origin, letter.operator, failed, error.replace("\n", " ")


def _values(each: Letter) -> dict[str, Any]:
    if each.letter is None:
        return {"number": each.number, "unreadable": each.unreadable}
    letter = each.letter
    return {
        "number": each.number,
        "operator": letter.operator,
        "error": letter.error,
        "attempts": letter.attempts,
        "failed_ms": letter.failed_ms,
        "origin": msgspec.to_builtins(letter.origin),
        "key": _text(letter.key),
        "value": _text(letter.value),
        "headers": {header.name: _text(header.value) for header in letter.headers},
        "timestamp_ms": letter.timestamp_ms,
        "cut": letter.cut,
        "computed": letter.computed,
    }


def _text(raw: bytes | None) -> str | None:
    """Bytes for a person: as text, with what is none spelled out."""
    return raw.decode(errors="backslashreplace") if raw is not None else None
