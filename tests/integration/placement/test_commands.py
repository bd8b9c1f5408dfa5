"""The commands of the control plane as a person types them, on real hosts with real leaders and ants."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from typer.testing import CliRunner

from services.cli.main import app
from services.registry.decisions import WEIGHED
from services.registry.write import write
from topics import catalogue
from topics.messages import MoveRecord

FLOW = """
flow: {flow}
sources:
  clicks: {topic: {source}, key: user, at: HOME}
operators:
  real: {op: filter, input: clicks, where: "size > 0"}
sinks:
  out: {input: real, topic: {sink}, at: HOME}
"""
SLOW = "0.001"
"""The capacity of a host where a flow takes milliseconds that it does not take at home, and which has room for two."""
LONG_PAUSE_MS = 1e6
"""With pauses on record that cost more than any gain, leaders move nothing by themselves: the person decides."""


def test_a_person_plans_approves_and_asks_what_if(
    hosts: Any, service: Any, lead: Callable[[str], Any], kafka: str
) -> None:
    """A dry run changes nothing under any policy; a yes runs exactly it, unless the world has changed meanwhile."""
    hosts.start("home")
    hosts.start("slow", extra=["--capacity", SLOW])
    service.start("p1")
    drifting, calm = (lead(FLOW.replace("HOME", hosts.name("home"))) for _ in range(2))
    drifting.flow.until(lambda: service.active() is not None, "an instance is active")
    remember_long_pauses(kafka)
    first = drifting.plan("slow")
    calm.plan("slow")
    for leader in (drifting, calm):
        leader.until_runs_on("slow")

    # A dry run under auto, and one whose world changes before the yes.
    shown = proposal(drifting, kafka)
    assert {(hosts.name("slow"), hosts.name("home"))} == {(move["from"], move["to"]) for move in shown["moves"]}
    assert len(drifting.placements()) == len(shown["moves"])
    assert "pause" in shown["objection"], "the leader would not do it by itself"
    assert shown["then"]["latency_ms"] < shown["now"]["latency_ms"]
    assert shown["predicted_pause_ms"] > 0
    assert None not in (shown["now"]["network_bytes"], shown["then"]["network_bytes"])
    assert "delays" in shown["basis"]
    before_per_s = shown["grounds"]["clicks.rate_per_s"]
    with feeding(drifting):
        drifting.flow.until(
            lambda: rate_per_s(drifting, first.hash) > 2 * before_per_s + 50, "the leader sees the load"
        )
        code, answer = run(kafka, "approve", shown["hash"])
    assert (1, "refused") == (code, answer["answer"])
    assert "source clicks gave" in answer["why"]
    assert drifting.runs_on("slow"), "nothing of it was done"

    # A held flow: the same dry run, a yes, and exactly that.
    assert (0, {"flow": calm.flow.name, "policy": "approve"}) == run(kafka, "policy", calm.flow.name, "approve")
    approved = calm.flow.until(lambda: planned_and_approved(calm, kafka), "a plan is approved in an unchanged world")
    calm.until_runs_on("home")
    assert {approved} == {each.plan for each in calm.placements().values()}
    assert drifting.runs_on("slow")

    # Why, who and when.
    code, why = run(kafka, "explain", calm.flow.name)
    assert (0, approved) == (code, why["plan"])
    assert [[hosts.name("home")]] == [segment["hosts"] for segment in why["segments"]]
    assert 1.2 == why["to_move"]["factor"]
    code, told = run(kafka, "history", calm.flow.name)
    assert 0 == code
    assert {"proposed", WEIGHED, "accepted", "approved"} <= {each["kind"] for each in told}

    # What if.
    name = calm.flow.name
    lost = whatif(kafka, name, "--host-lost", hosts.name("home"))
    assert [hosts.name("slow")] == [target for _, _, target in lost["moves"]]
    faster = whatif(kafka, name, "--rate", f"{name}=2x")
    assert [] == faster["moves"], "it is at home, where nothing is better"
    more = whatif(kafka, name, "--add-host", "new:1.0:r1")
    assert more["latency_ms"] <= more["latency_now_ms"] + 1.0
    code, wrong = run(kafka, "whatif", "--host-lost", "nobody")
    assert (1, None) == (code, wrong)


def run(kafka: str, *arguments: str) -> tuple[int, Any]:
    """The exit code of a command, and what it printed as JSON."""
    done = CliRunner().invoke(app, [*arguments, "--bootstrap", kafka, "--json"])
    return done.exit_code, json.loads(done.stdout) if done.stdout.strip() else None


def proposal(leader: Any, kafka: str) -> dict[str, Any]:
    """What `plan` shows once ants have seen enough of the world to propose something; nothing has changed by it."""

    def ask() -> dict[str, Any] | None:
        code, shown = run(kafka, "plan", leader.flow.name)
        assert 0 == code, shown
        return shown if shown["is_proposal"] else None

    owners = leader.owners()
    shown: dict[str, Any] = leader.flow.until(ask, "the leader proposes another place")
    assert owners == leader.owners()
    return shown


def planned_and_approved(leader: Any, kafka: str) -> str | None:
    """The hash of a plan that was approved; a leader that has just learned what its flow is like may refuse one."""
    shown = proposal(leader, kafka)
    code, answer = run(kafka, "approve", shown["hash"])
    assert (code == 0) is (answer["answer"] != "refused"), answer
    return shown["hash"] if code == 0 else None


def whatif(kafka: str, flow: str, *question: str) -> dict[str, Any]:
    """The answer for one flow."""
    code, found = run(kafka, "whatif", *question)
    assert (0, None, []) == (code, found["infeasible"], found["notes"]), found
    (answer,) = (each for each in found["flows"] if each["flow"] == flow)
    assert answer["central"] is not None
    return dict(answer)


def rate_per_s(leader: Any, hash: str) -> float:
    """The source's rate as the flow's leader sees it, by its word on the plan that runs, which rests on nothing."""
    request = leader.ask("approve", hash=hash)
    leader.flow.until(
        lambda: [each for each in leader.answers(request) if each.kind == WEIGHED], "the leader weighs it"
    )
    (word,) = (each for each in leader.answers(request) if each.kind == WEIGHED)
    return float(word.evidence["clicks.rate_per_s"])


@contextmanager
def feeding(leader: Any) -> Iterator[None]:
    """Some hundred records a second, until the context ends."""
    stop = threading.Event()

    def feed() -> None:
        while not stop.is_set():
            leader.flow.feed([{"user": f"u{number}", "size": number % 7} for number in range(60)])
            time.sleep(0.1)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def remember_long_pauses(kafka: str) -> None:
    """Moves of some other flow, as a leader finds them in the registry."""
    records = [
        MoveRecord(
            move=f"m-long-{number}",
            flow="other",
            segment="other.s",
            partition=number,
            epoch=1,
            origin="x",
            target="y",
            phase="done",
            proposed_ms=1,
            since_ms=2**50 + number,  # the newest, whatever moves the test makes
            reason="test",
            actual_pause_ms=LONG_PAUSE_MS,
            unread_changes=0,
        )
        for number in range(9)
    ]
    write(kafka, [(catalogue.MOVES, record) for record in records])
