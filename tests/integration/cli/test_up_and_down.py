"""One stack's life as a user sees it: started in the background, killed in every way, stopped, started again, wiped.

The tests run in this order on one stack, each leaves it ready for the next, and all read what the first ones wrote.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from confluent_kafka import Consumer, Producer, TopicPartition

from services.cli.exits import ExitCode
from services.embedded.furniture import DEMO_SOURCE
from services.embedded.home import Home, is_alive
from services.embedded.ports import is_free
from services.embedded.remote import look
from tests.waiting import until

STIGMERGY = str(Path(sys.executable).with_name("stigmergy"))
WAIT_S = 240.0


class User:
    """Somebody with a terminal and a home of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.sent = 0
        self.bootstrap = ""
        self.redis_url = ""
        self.environment = {**os.environ, "STIGMERGY_HOME": str(home), "STIGMERGY_DEMO": "false"}

    def runs(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [STIGMERGY, *arguments], env=self.environment, capture_output=True, text=True, check=False, timeout=WAIT_S
        )

    def goes_up(self) -> dict[str, Any]:
        result = self.runs("up", "--detach", "--json")
        assert 0 == result.returncode, result.stderr
        return self.sees()

    def sees(self) -> dict[str, Any]:
        """What `status` says; the addresses are remembered."""
        seen = dict(json.loads(self.runs("status", "--json").stdout))
        self.bootstrap, self.redis_url = seen["bootstrap"], seen["redis_url"]
        return seen

    def waits_ready(self) -> None:
        """As often as a shell loop over `stigmergy status` would, but without starting Python each time."""
        until(lambda: look(Home(self.home)).is_ready, "the stack is ready", patience_s=WAIT_S)

    def pid(self, name: str) -> int:
        view = look(Home(self.home))
        return next(seen.record.pid or 0 for seen in view.seen if seen.record.name == name)

    def sends(self, count: int) -> None:
        """Sends records and waits until each is acknowledged."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all"})
        failed: list[object] = []
        for number in range(self.sent, self.sent + count):
            producer.produce(
                DEMO_SOURCE.name,
                value=str(number),
                partition=0,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        assert 0 == producer.flush(WAIT_S)
        assert [] == failed
        self.sent += count

    def reads(self) -> list[int]:
        """As many records of the demo source as were sent, from the first on."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader"})
        consumer.assign([TopicPartition(DEMO_SOURCE.name, 0, 0)])
        messages = consumer.consume(self.sent, timeout=WAIT_S)
        consumer.close()
        return [int(message.value() or b"") for message in messages]

    def redis(self) -> "redis.Redis":
        return redis.Redis.from_url(self.redis_url, decode_responses=True)


def kill(pid: int) -> None:
    process = psutil.Process(pid)
    process.kill()
    psutil.wait_procs([process], timeout=WAIT_S)


def ports_of(home: Path) -> list[int]:
    cluster = json.loads((home / "cluster.json").read_text())
    return [cluster["redis_port"], *(site[key] for site in cluster["sites"] for key in ("port", "controller_port"))]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    user = User(tmp_path_factory.mktemp("user") / "home")
    yield user
    user.runs("down")


def test_up_detached_returns_when_all_is_ready(user: User) -> None:
    """And says what runs, where, and what to try next."""
    result = user.runs("up", "--detach")
    assert 0 == result.returncode, result.stderr
    for expected in ("broker-1", "redis", "for any client", "stigmergy status", "stigmergy down", str(user.home)):
        assert expected in result.stdout
    assert "" == result.stderr
    assert user.sees()["ready"]
    assert 0o700 == user.home.stat().st_mode & 0o777
    log = (user.home / "logs" / "supervisor.log").read_text().splitlines()
    assert "redis started" in [json.loads(line)["event"] for line in log]


def test_a_record_sent_to_the_demo_source_is_read_back(user: User) -> None:
    """With any Kafka client."""
    user.sends(1000)
    assert list(range(1000)) == user.reads()
    with user.redis() as client:
        client.set("kept", "yes")


def test_doctor_finds_nothing_wrong(user: User) -> None:
    """Broker, Redis, topics and clock are checked on what runs."""
    result = user.runs("doctor", "--json")
    assert 0 == result.returncode, result.stdout
    verdicts = {row["check"]: row["verdict"] for row in json.loads(result.stdout)}
    assert {"broker": "ok", "redis": "ok", "topics": "ok", "clock": "ok"}.items() <= verdicts.items()


@pytest.mark.parametrize("flags", [[], ["--detach"]], ids=["foreground", "detached"])
def test_a_second_up_says_so_and_changes_nothing(user: User, flags: list[str]) -> None:
    """Two supervisors on one log would destroy it."""
    before = user.sees()
    result = user.runs("up", *flags)
    assert ExitCode.ALREADY_RUNNING == result.returncode
    assert f"already runs in {user.home} (process {before['pid']})" in result.stderr.replace("\n", " ")
    assert before == user.sees()


def test_a_killed_broker_comes_back_with_all_that_it_had_acknowledged(user: User) -> None:
    """kill -9 loses nothing; while it is away, status says so."""
    user.sends(1000)
    supervisor, broker = psutil.Process(user.sees()["pid"]), psutil.Process(user.pid("broker-1"))
    supervisor.suspend()  # else it may be quicker than `status`
    try:
        broker.kill()
        until(lambda: broker.status() == psutil.STATUS_ZOMBIE, "the broker is dead", patience_s=WAIT_S)
        assert ExitCode.NOT_READY == user.runs("status").returncode
    finally:
        supervisor.resume()
    user.waits_ready()
    assert list(range(2000)) == user.reads()


def test_a_killed_redis_comes_back_with_its_keys(user: User) -> None:
    """From the append-only file."""
    with user.redis() as client:
        client.set("last", "words")
    kill(user.pid("redis"))
    user.waits_ready()
    with user.redis() as client:
        assert ["yes", "words"] == client.mget("kept", "last")


def test_a_killed_supervisor_takes_all_with_it_and_the_next_up_recovers(user: User) -> None:
    """No orphan, no port, no lock in the way; ports and records are those of before."""
    before = user.sees()
    children = [psutil.Process(process["pid"]) for process in before["processes"]]
    kill(before["pid"])
    _, alive = psutil.wait_procs(children, timeout=WAIT_S)
    assert [] == alive
    assert all(is_free(port) for port in ports_of(user.home))
    assert ExitCode.NOT_RUNNING == user.runs("status").returncode
    assert before["bootstrap"] == user.goes_up()["bootstrap"]
    assert list(range(2000)) == user.reads()


def test_down_leaves_no_process_and_no_port(user: User) -> None:
    """From any terminal."""
    before = user.sees()
    everything = [psutil.Process(pid) for pid in (before["pid"], *(p["pid"] for p in before["processes"]))]
    assert 0 == user.runs("down").returncode
    assert not any(is_alive(process.pid, process.create_time()) for process in everything)
    assert all(is_free(port) for port in ports_of(user.home))
    assert ExitCode.NOT_RUNNING == user.runs("status").returncode


def test_ctrl_c_stops_all_and_the_data_is_there_at_the_next_up(user: User) -> None:
    """In the foreground, with the demo, as `make up` does: it ends with 0, and nothing of it is left."""
    command = [STIGMERGY, "up", "--demo"]
    with subprocess.Popen(command, env=user.environment, stdout=subprocess.PIPE, text=True) as foreground:
        user.waits_ready()
        processes = user.sees()["processes"]
        names = ["links", "broker-1", "redis", "edge-1", "core-1", "core-2", "demo", "placement-1", "placement-2"]
        assert names == [process["name"] for process in processes]
        assert list(range(2000)) == user.reads()
        children = [psutil.Process(process["pid"]) for process in processes]
        foreground.send_signal(signal.SIGINT)
        said, _ = foreground.communicate(timeout=WAIT_S)
    assert 0 == foreground.returncode
    assert "Stigmergy is up" in said
    assert not any(is_alive(child.pid, child.create_time()) for child in children)
    assert all(is_free(port) for port in ports_of(user.home))


def test_wipe_removes_the_data(user: User) -> None:
    """With a yes; and then there is nothing left, not even the folder."""
    assert ExitCode.FAILURE == user.runs("down", "--wipe").returncode
    assert (user.home / "kafka").exists()
    assert 0 == user.runs("down", "--wipe", "--yes").returncode
    assert not user.home.exists()
