"""`stigmergy move`: takes partitions of an operator's segment to another host, with their state."""

import re
import time
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from placement.moves import ENDED, Phase
from services.cli.assign import find_slots
from services.cli.cluster import BootstrapOption, bootstrap_of
from services.cli.exits import ExitCode
from services.cli.options import AsJson, HomeOption
from services.cli.screen import busy, console, print_json, show_error
from services.registry.asking import ENDS, POLL_S, ask, wait_answer, wait_answers
from services.registry.errors import RegistryError
from services.registry.snapshot import followed_registry, read_registry
from services.registry.view import Slot
from topics import catalogue
from topics.messages import Decision

app = typer.Typer()

ANSWER_S_MAX = 20.0
NUMBERS = r"\d{1,5}(-\d{1,5})?"
"""Nobody has a hundred thousand partitions."""
PARTITIONS = re.compile(f"{NUMBERS}(,{NUMBERS})*")


@app.command()
def move(
    flow: Annotated[str, typer.Argument(help="The flow's name.")],
    operator: Annotated[str, typer.Argument(help="An operator or segment; /0,2-4 after it names partitions.")],
    host: Annotated[str, typer.Argument(help="Where to.")],
    *,
    wait: Annotated[bool, typer.Option(help="Wait until all have moved, not only until they begin to.")] = True,
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
    deadline_s = time.monotonic() + timeout_s
    with busy("moving"):
        answer = _ask(address, flow, wanted, host, deadline_s)
        while "moving" in answer.evidence and _until_at_rest(address, wanted, deadline_s):
            answer = _ask(address, flow, wanted, host, deadline_s)
        ends, left = _wait(address, answer, deadline_s) if wait else ([answer], 0)
    failed = [each for each in ends if each.kind in ("refused", "rolled_back", "abandoned")]
    if as_json:
        print_json({"request": answer.request, "decisions": ends, "under_way": left})
    else:
        for each in ends:
            mark = ("✗ ", "bold red") if each in failed else ("✓ ", "bold green")
            pause_ms = each.evidence.get("pause_ms")
            pause = f", paused for {pause_ms:.0f} ms" if isinstance(pause_ms, float) else ""
            console.print(Text.assemble(mark, f"{each.kind}: {each.what}{pause}"), soft_wrap=True)
    if failed:
        show_error(failed[0].why, f"see stigmergy history {flow}")
    if left:
        show_error(f"{left} still under way", f"they go on; see stigmergy history {flow}, or give more --timeout")
    if failed or left:
        raise typer.Exit(ExitCode.FAILURE)


def parse_operator(text: str) -> tuple[str, set[int]]:
    """`traffic/0,2-4` is the operator traffic and the partitions 0, 2, 3 and 4; without numbers all are meant."""
    name, slash, numbers = text.partition("/")
    if not slash:
        return name, set()
    if not PARTITIONS.fullmatch(numbers):
        raise RegistryError(
            f"{numbers!r} does not name partitions", f"such as {name}/0 or {name}/0,2-4, each of five digits at most"
        )
    found: set[int] = set()
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        if int(last or first) < int(first):
            raise RegistryError(
                f"{part!r} names no partition: it ends before it begins", f"such as {name}/{last}-{first}"
            )
        found |= set(range(int(first), int(last or first) + 1))
    return name, found


def _ask(bootstrap: str, flow: str, slots: Sequence[Slot], host: str, deadline_s: float) -> Decision:
    partitions = tuple(slot[1] for slot in slots)
    request = ask(bootstrap, "move", flow, segment=slots[0][0], partitions=partitions, host=host)
    return wait_answer(bootstrap, request, timeout_s=min(ANSWER_S_MAX, max(1.0, deadline_s - time.monotonic())))


def _until_at_rest(bootstrap: str, slots: Sequence[Slot], deadline_s: float) -> bool:
    """Ants move what they find a better place for at any time: ours comes next. False if the time is over."""
    with followed_registry(bootstrap, catalogue.MOVES) as registry:
        while time.monotonic() < deadline_s:
            moves = registry.read().moves.values()
            if not any((each.segment, each.partition) in slots and Phase(each.phase) not in ENDED for each in moves):
                return True
            time.sleep(POLL_S)
    return False


def _wait(bootstrap: str, answer: Decision, deadline_s: float) -> tuple[list[Decision], int]:
    """How partitions' moves ended, and how many have not; the answer itself if there was nothing to move."""
    moving = int(answer.what.split(" ", 1)[0]) if answer.kind == "accepted" else 0
    if not moving:
        return [answer], 0
    found = wait_answers(bootstrap, str(answer.request), lambda all_: len(_ends(all_)) >= moving, deadline_s=deadline_s)
    ends = _ends(found)
    return ends, max(0, moving - len(ends))


def _ends(answers: Sequence[Decision]) -> list[Decision]:
    return [each for each in answers if each.kind in ENDS]
