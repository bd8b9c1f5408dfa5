"""`stigmergy move`: takes partitions of an operator's segment to another host, with their state."""

import re
import time
from typing import Annotated

import typer
from rich.text import Text

from services.cli.assign import find_slots
from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json, show_error
from services.registry.asking import ENDS, POLL_S, answers_to, ask, wait_answer
from services.registry.errors import RegistryError
from services.registry.snapshot import read_registry
from topics.messages import Decision

app = typer.Typer()

PARTITIONS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


@app.command()
def move(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    operator: Annotated[str, typer.Argument(help="An operator or segment; /0,2-4 after it names partitions.")],
    host: Annotated[str, typer.Argument(help="Where to.")],
    *,
    wait: Annotated[bool, typer.Option(help="Wait until all have moved.")] = True,
    timeout_s: Annotated[float, typer.Option("--timeout", help="Seconds to wait.")] = 120.0,
    bootstrap: BootstrapOption = None,
    home: HomeOption = None,
    as_json: AsJson = False,
) -> None:
    """Move partitions to a host: it warms up first, then takes over; only these partitions pause, for a moment."""
    address = bootstrap_of(bootstrap, home)
    name, numbers = parse_operator(operator)
    slots = find_slots(read_registry(address), flow, name, None)
    wanted = [slot for slot in slots if not numbers or slot[1] in numbers]
    if missing := sorted(numbers - {slot[1] for slot in slots}):
        raise RegistryError(f"{name} has no partition {missing[0]}", f"it has {len(slots)}: 0 to {len(slots) - 1}")
    partitions = tuple(slot[1] for slot in wanted)
    request = ask(address, "move", flow, segment=wanted[0][0], partitions=partitions, host=host)
    with busy("moving"):
        answer = wait_answer(address, request, timeout_s=min(20.0, timeout_s))
        ends = _wait(address, request, answer, timeout_s) if wait else [answer]
    failed = [each for each in ends if each.kind in ("refused", "rolled_back", "abandoned")]
    if as_json:
        print_json({"request": request, "decisions": ends})
    else:
        for each in ends:
            mark = ("✗ ", "bold red") if each in failed else ("✓ ", "bold green")
            pause_ms = each.evidence.get("pause_ms")
            pause = f", paused for {pause_ms:.0f} ms" if isinstance(pause_ms, float) else ""
            console.print(Text.assemble(mark, f"{each.kind}: {each.what}{pause}"), soft_wrap=True)
    if failed:
        show_error(failed[0].why, f"see stigmergy history {flow}")
        raise typer.Exit(ExitCode.FAILURE)


def parse_operator(text: str) -> tuple[str, set[int]]:
    """`traffic/0,2-4` is the operator traffic and the partitions 0, 2, 3 and 4; without numbers all are meant."""
    name, slash, numbers = text.partition("/")
    if not slash:
        return name, set()
    if not PARTITIONS.fullmatch(numbers):
        raise RegistryError(f"{numbers!r} does not name partitions", f"such as {name}/0 or {name}/0,2-4")
    found: set[int] = set()
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return name, found


def _wait(bootstrap: str, request: str, answer: Decision, timeout_s: float) -> list[Decision]:
    """How each partition's move ended; the answer itself if there was nothing to move."""
    moving = int(answer.what.split(" ", 1)[0]) if answer.kind == "accepted" else 0
    deadline_s = time.monotonic() + timeout_s
    while moving and time.monotonic() < deadline_s:
        ends = [each for each in answers_to(bootstrap, request) if each.kind in ENDS]
        if len(ends) >= moving:
            return ends
        time.sleep(POLL_S)
    return [answer]
