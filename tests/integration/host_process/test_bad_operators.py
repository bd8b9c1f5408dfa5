"""Functions that fail on everything, hang or die: their segment parks and says so; their neighbours do not notice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from services.cli.main import app
from services.registry.snapshot import read_registry
from services.setaside.letters import read_letters

FLOW = """
flow: {flow}
park_after: 100
sources:
  orders: {topic: {source}, key: user}
operators:
  ruled: {python: "RULE", input: orders, timeout: 500ms, settings: {folder: "FOLDER"}}
sinks:
  out: {input: ruled, topic: {sink}}
"""

RULES = """
import os, pathlib, re

def picky(record, folder):
    if not pathlib.Path(folder, "fixed").exists():
        raise RuntimeError("the price list is missing")
    return record

def stuck(record, folder):
    if not pathlib.Path(folder, "fixed").exists():
        re.match(r"(a+)+$", "a" * 60 + "b")  # holds the interpreter's lock for years
    return record

def hang_or_die(record, folder):
    if record["n"] == 11:
        re.match(r"(a+)+$", "a" * 60 + "b")
    if record["n"] == 22:
        os.kill(os.getpid(), 9)
    return record

LEAKED = []

def leaky(record, folder):
    if record["n"] >= 20:
        LEAKED.append(bytearray(1 << 20))
    if record["n"] == 30:
        LEAKED.append(bytearray(1 << 30))
    return record

def tame(record, folder):
    return record
"""


def staged(stage: Callable, folder: Path, rule: str) -> Any:
    return stage(FLOW.replace("RULE", f"odd_rules:{rule}").replace("FOLDER", str(folder)), partitions=1)


def orders(count: int, *, first: int = 0) -> list[dict]:
    return [{"user": f"u{n % 9}", "n": n} for n in range(first, first + count)]


def started(hosts: Any, folder: Path, *more: str) -> None:
    (folder / "odd_rules.py").write_text(RULES)
    hosts.start("a", extra=["--allow", f"{folder}/", *more])


def parked(flow: Any, words: str) -> bool:
    return any(each.state == "parked" and words in str(each.reason) for each in flow.statuses().values())


def parked_trouble(flow: Any) -> str:
    """What `flows` tells of the trouble of a parked flow; nothing while its host is silent, or if it is not parked."""
    (row,) = [each for each in commanded("flows", bootstrap=flow.bootstrap) if each["flow"] == flow.name]
    return " ".join(row["trouble"]) if row["state"] == "parked" else ""


def commanded(*arguments: str, bootstrap: str) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--bootstrap", bootstrap, "--json"])
    assert 0 == done.exit_code, f"{done.output} {done.exception!r}"
    return json.loads(done.stdout)


def test_an_operator_that_fails_on_everything_parks_and_goes_on_when_it_is_mended(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """A whole topic must not end in the dead letters because a price list is missing: not one record is skipped."""
    started(hosts, tmp_path)
    flow, neighbour = staged(stage, tmp_path, "picky"), staged(stage, tmp_path, "tame")
    flow.submit(hosts, "a")
    neighbour.submit(hosts, "a")
    flow.feed(orders(500))
    flow.until(lambda: parked(flow, "the price list is missing"), "it parks with its reason")
    flow.until(lambda: "ruled failed on" in parked_trouble(flow), "`flows` tells why")
    neighbour.feed(orders(100))
    neighbour.until_results(100)

    (tmp_path / "fixed").touch()
    slot, placement = next(iter(hosts_placements(flow)))
    commanded(
        *("assign", flow.name, "--segment", "ruled", "--partition", str(slot[1]), "--host", placement.host),
        bootstrap=flow.bootstrap,
    )
    results = flow.until_results(500)
    letters = [each.letter.origin.offset for each in read_letters(flow.bootstrap, flow.name)]
    assert sorted(record["n"] for record in orders(500)) == sorted(each["n"] for each in results)
    assert [] == letters


def hosts_placements(flow: Any) -> Any:
    return [(slot, each) for slot, each in read_registry(flow.bootstrap).placements.items() if each.flow == flow.name]


def test_an_operator_that_hangs_on_everything_parks_while_others_run(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """It even holds the interpreter's lock; nobody else on its host may wait for it."""
    started(hosts, tmp_path)
    flow, neighbour = staged(stage, tmp_path, "stuck"), staged(stage, tmp_path, "tame")
    flow.submit(hosts, "a")
    neighbour.submit(hosts, "a")
    flow.feed(orders(50))
    neighbour.feed(orders(100))
    neighbour.until_results(100)
    flow.until(lambda: parked(flow, "took longer than 0.5 s"), "it parks with its reason")
    neighbour.feed(orders(100, first=100))
    neighbour.until_results(200)
    assert [] == list(read_letters(flow.bootstrap, flow.name))


def test_a_record_that_hangs_or_kills_its_function_is_a_dead_letter_and_the_rest_goes_on(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """Two records of forty fail, for two reasons; the host lives and the others arrive."""
    started(hosts, tmp_path)
    flow = staged(stage, tmp_path, "hang_or_die")
    flow.submit(hosts, "a")
    flow.feed(orders(40))
    results = flow.until_results(38)
    assert {11, 22} == set(range(40)) - {each["n"] for each in results}
    letters = {
        json.loads(each.letter.value)["n"]: each.letter.error for each in read_letters(flow.bootstrap, flow.name)
    }
    assert {11: "took longer than 0.5 s", 22: "its process ended by SIGKILL"} == letters
    assert hosts.running["a"].poll() is None


def test_a_function_that_leaks_is_made_anew_and_only_what_no_process_can_hold_is_a_dead_letter(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """It leaks more than its process may take, several times over; host and neighbour do not notice."""
    started(hosts, tmp_path, "--function-memory", "96")
    flow, neighbour = staged(stage, tmp_path, "leaky"), staged(stage, tmp_path, "tame")
    flow.submit(hosts, "a")
    neighbour.submit(hosts, "a")
    flow.feed(orders(300))
    neighbour.feed(orders(100))
    results = flow.until_results(299)
    neighbour.until_results(100)
    assert {30} == set(range(300)) - {each["n"] for each in results}
    (letter,) = (each.letter for each in read_letters(flow.bootstrap, flow.name))
    assert "memory" in letter.error
    assert hosts.running["a"].poll() is None
    assert not parked(flow, "")
