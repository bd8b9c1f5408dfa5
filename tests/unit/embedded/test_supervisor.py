"""The supervisor with small real processes: order, restart, failure and stop."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from services.embedded.errors import StartError
from services.embedded.lifecycle import RestartPolicy, State
from services.embedded.process import Process, stop_layers
from services.embedded.record import ProcessRecord
from services.embedded.supervisor import Supervisor
from tests.waiting import until

WAIT_S = 20.0


@dataclass(frozen=True)
class FileProbe:
    """Ready when the file is there."""

    path: Path

    def answers(self) -> bool:
        return self.path.exists()


class Story:
    """What the supervisor told, and the processes as they are."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.supervisor = Supervisor(self._hear)

    def _hear(self, records: Sequence[ProcessRecord], what: str) -> None:
        self.told.append(what)

    def record(self, name: str) -> ProcessRecord:
        return next(record for record in self.supervisor.records() if record.name == name)


@pytest.fixture
def story() -> Iterator[Story]:
    story = Story()
    story.supervisor.start()
    yield story
    story.supervisor.stop()


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Any]:
    def make(name: str, script: str = "touch $READY; exec sleep 1000", **changes: Any) -> Process:
        ready = tmp_path / f"{name}.ready"
        return Process(
            name=name,
            command=("sh", "-c", script),
            ready=FileProbe(ready),  # type: ignore[arg-type]
            address="",
            log=tmp_path / f"{name}.log",
            environment={"READY": str(ready)},
            **changes,
        )

    return make


def test_a_process_starts_after_those_that_it_needs(story: Story, process: Callable[..., Process]) -> None:
    """A host without a broker would only fail."""
    story.supervisor.add([process("host", after=("broker",)), process("broker")])
    story.supervisor.wait_ready()
    started = [what.split(" after ")[0] for what in story.told]
    assert ["broker started", "broker ready", "host started", "host ready"] == started


def test_what_is_needed_stops_last(story: Story, process: Callable[..., Process]) -> None:
    """A host must be able to commit before its broker goes."""
    story.supervisor.add([process("broker"), process("host", after=("broker",))])
    story.supervisor.wait_ready()
    pids = [record.pid for record in story.supervisor.records()]
    story.supervisor.stop()
    assert ["host is stopping", "host has stopped", "broker is stopping", "broker has stopped"] == story.told[-4:]
    assert not any(psutil.pid_exists(pid) for pid in pids if pid is not None)


def test_a_killed_process_comes_back(story: Story, process: Callable[..., Process]) -> None:
    """With another id, and counted."""
    story.supervisor.add([process("broker")])
    story.supervisor.wait_ready()
    pid = story.record("broker").pid
    assert pid is not None
    psutil.Process(pid).kill()
    until(lambda: story.record("broker").restarts == 1, "the broker is started again", patience_s=WAIT_S)
    until(lambda: story.record("broker").state is State.READY, "the broker is ready again", patience_s=WAIT_S)
    assert story.record("broker").pid not in (None, pid)
    assert "broker ended with signal SIGKILL" in story.told


def test_a_process_that_keeps_ending_is_given_up(story: Story, process: Callable[..., Process], tmp_path: Path) -> None:
    """After its last permitted failure; the others run on."""
    policy = RestartPolicy(first_delay_s=0.01, factor=1.0, failures_max=2)
    ends = tmp_path / "it ends"
    script = f"touch $READY; while [ ! -e '{ends}' ]; do sleep 0.02; done"
    story.supervisor.add([process("broker"), process("host", script, restart=policy)])
    story.supervisor.wait_ready()
    ends.touch()
    until(lambda: story.record("host").state is State.FAILED, "the host is given up", patience_s=WAIT_S)
    assert 2 == story.record("host").restarts
    assert State.READY is story.record("broker").state


def test_a_failed_start_shows_the_last_log_lines(story: Story, process: Callable[..., Process]) -> None:
    """The message is what a person needs; the whole log is named."""
    story.supervisor.add([process("broker", "for i in $(seq 1 30); do echo line $i; done; exit 3")])
    with pytest.raises(StartError) as caught:
        story.supervisor.wait_ready()
    assert "broker did not start: it ended with exit code 3" in caught.value.what
    assert "  line 16\n" in caught.value.what
    assert "line 15\n" not in caught.value.what
    assert caught.value.what.endswith("line 30")
    assert "broker.log" in caught.value.remedy


def test_a_process_that_never_answers_fails_in_time(story: Story, process: Callable[..., Process]) -> None:
    """It is killed, and the reason is told."""
    story.supervisor.add([process("broker", "exec sleep 1000", start_timeout_s=0.2)])
    with pytest.raises(StartError, match="did not answer within 0 s"):
        story.supervisor.wait_ready()


def test_a_process_that_ignores_the_polite_signal_is_killed(story: Story, process: Callable[..., Process]) -> None:
    """Stopping has an end."""
    stubborn = "trap '' TERM; touch $READY; while true; do sleep 0.05; done"
    story.supervisor.add([process("broker", stubborn, stop_timeout_s=0.2)])
    story.supervisor.wait_ready()
    pid = story.record("broker").pid
    story.supervisor.stop()
    assert pid is not None
    assert not psutil.pid_exists(pid)


def test_what_a_process_started_itself_ends_with_it(
    story: Story, process: Callable[..., Process], tmp_path: Path
) -> None:
    """No orphan is left, also of the second generation."""
    script = "sleep 1000 & echo $! > $READY.pid; mv $READY.pid $READY; wait"
    story.supervisor.add([process("broker", script)])
    story.supervisor.wait_ready()
    grandchild = psutil.Process(int((tmp_path / "broker.ready").read_text()))
    story.supervisor.stop()
    psutil.wait_procs([grandchild], timeout=WAIT_S)
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE


def test_a_child_ignores_the_signals_of_the_terminal(story: Story, process: Callable[..., Process]) -> None:
    """Ctrl-C goes to the whole foreground group; brokers must not stop before what uses them."""
    story.supervisor.add([process("broker")])
    story.supervisor.wait_ready()
    pid = story.record("broker").pid
    assert pid is not None
    assert pid == os.getsid(pid)


def test_a_supervisor_that_breaks_down_stops_all_and_says_so(process: Callable[..., Process]) -> None:
    """It must never look as if all were well."""

    def hear(records: Sequence[ProcessRecord], what: str) -> None:
        if "ready" in what:
            raise ZeroDivisionError

    supervisor = Supervisor(hear)
    supervisor.start()
    supervisor.add([process("broker")])
    with pytest.raises(RuntimeError, match="broke down"):
        supervisor.wait()
    assert [State.STOPPED] == [record.state for record in supervisor.records()]


def test_layers_of_stopping() -> None:
    """All at once what can be, and nothing before what depends on it."""

    def named(name: str, *after: str) -> Process:
        return Process(
            name=name,
            command=(),
            ready=FileProbe(Path()),
            address="",
            log=Path(),
            after=after,  # type: ignore[arg-type]
        )

    processes = [named("redis"), named("broker"), named("host", "broker", "redis"), named("api", "host")]
    assert [["api"], ["host"], ["redis", "broker"]] == stop_layers(processes)


def test_nobody_waits_for_what_is_not_awaited(story: Story, process: Callable[..., Process]) -> None:
    """Spark takes its time to start, and may fail to: the rest is ready without it."""
    story.supervisor.add(
        [
            process("broker"),
            process("slow", script="exec sleep 1000", is_awaited=False),
            process("broken", script="exit 1", is_awaited=False),
        ]
    )
    story.supervisor.wait_ready()
    assert State.READY is story.record("broker").state
    until(lambda: story.record("broken").state is State.FAILED, "it is given up", patience_s=WAIT_S)
    story.supervisor.wait_ready()
    assert not story.record("slow").is_awaited
