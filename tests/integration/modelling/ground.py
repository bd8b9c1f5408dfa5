"""A broker and a Redis that tests may stop, the modelling service as a process, and metrics at an exact pace."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis
from confluent_kafka import Consumer, TopicPartition

from services.embedded import EmbeddedStack
from services.embedded.ports import LOOPBACK, choose_ports
from services.lab.modelling.feed import Feeder, operator_row
from services.modelling.mirror_read import read_model
from services.modelling.params import StreamParams
from tests.waiting import until
from topics.catalogue import METRICS_OPERATORS, METRICS_REJECTED, MODELS
from topics.errors import MessageError
from topics.messages import Model, RejectedMetrics

PATIENCE_S = 240.0
"""Spark needs ten seconds to start, and ten times that on a machine that is busy with other things."""
WINDOW_S = 20
ARRIVALS = 100
"""In every second, at every operator of the feed: so a window that was lost or counted twice shows."""
OPERATORS = 4
KEY = "rate/bench-0/operator-0"


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives as soon as it is true."""
    return until(condition, what, patience_s=PATIENCE_S, poll_s=0.2)


class ModellingProcess:
    """`python -m services.modelling`, started and ended as a test likes."""

    def __init__(self, stack: EmbeddedStack, folder: Path, *, master: str = "local[2]") -> None:
        self.folder = folder
        self.port = choose_ports([None])[0]
        self.log = folder / "service.log"
        self._stack = stack
        self._master = master
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when its query runs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "services.modelling", "--bootstrap", self._stack.bootstrap]
        command += ["--folder", str(self.folder), "--master", self._master, "--window", str(WINDOW_S)]
        command += ["--port", str(self.port), "--log-format", "json"]
        environment = {**os.environ, "STIGMERGY_REDIS_URL": self._stack.redis_url}
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        wait_until(lambda: self._has_ended() or self.figures(), "the service to run")
        assert not self._has_ended(), self.log.read_text()[-3_000:]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code. SIGKILL hits all of it at once, the JVM too."""
        assert self._child is not None
        if number is signal.SIGKILL:
            os.killpg(self._child.pid, number)
        else:
            self._child.send_signal(number)
        return self._child.wait(PATIENCE_S)

    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def figures(self) -> dict[str, float]:
        """What its metrics page says; empty if there is none."""
        try:
            with urllib.request.urlopen(f"http://{LOOPBACK}:{self.port}/metrics", timeout=30) as page:
                text = page.read().decode()
        except (OSError, urllib.error.URLError):
            return {}
        return {name: float(value) for name, value in re.findall(r"^stigmergy_models_(\S+) (\S+)$", text, re.MULTILINE)}

    def count(self, event: str) -> int:
        """How often its log has this event."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        return sum(event in json.loads(line)["event"] for line in lines)

    def _has_ended(self) -> bool:
        return self._child is not None and self._child.poll() is not None


class Pace:
    """Writes the same number of arrivals for each operator and second, without a gap, until it is stopped."""

    def __init__(self, bootstrap: str) -> None:
        self._feeder = Feeder(bootstrap)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.first = self.last = 0

    def __enter__(self) -> "Pace":
        self._thread.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        second = self.first = int(time.time())
        while not self._over.wait(0.05):
            while second <= time.time():
                self._feeder.write(operator_row(number, 0, second, ARRIVALS) for number in range(OPERATORS))
                self.last, second = second, second + 1
            self._feeder.flush()


class Ground:
    """All of it, and what can be read of it."""

    def __init__(self, stack: EmbeddedStack, service: ModellingProcess) -> None:
        self.stack = stack
        self.service = service
        self.feeder = Feeder(stack.bootstrap)
        self.redis = redis.Redis.from_url(stack.redis_url, socket_timeout=30)

    def model(self, key: str) -> Model | None:
        """As Redis has it."""
        try:
            return read_model(self.redis, key)
        except redis.RedisError:
            return None

    def model_of(self, key: str, second: int) -> Model:
        """The first model of this key that knows this second."""

        def known() -> Model | None:
            found = self.model(key)
            return found if found is not None and found.second >= second else None

        return wait_until(known, f"{key} of second {second}")

    def model_when(self, key: str, is_right: Callable[[Model], bool]) -> Model:
        """The first model of this key that is right; if none is, the failure shows the last."""
        last: list[Model] = []

        def right() -> Model | None:
            last[:] = [found for found in [self.model(key)] if found is not None]
            return next(filter(is_right, last), None)

        try:
            return wait_until(right, f"a right model of {key}")
        except AssertionError as error:
            raise AssertionError(f"{error}; the last is {last}") from None

    def models(self, key: str) -> list[Model]:
        """All that were ever written to the topic, in order."""
        values = self._read(MODELS.name, key)
        return [MODELS.codec.decode(value, topic="t", partition=0, offset=0) for value in values]

    def arrivals(self, key: str) -> dict[int, int]:
        """By second: what the broker has of the operator that a rate model is about, wrong clocks set right."""
        found: dict[int, int] = {}
        for value, appended_ms in self._read_all(METRICS_OPERATORS.name):
            try:
                row = METRICS_OPERATORS.codec.decode(value, topic="t", partition=0, offset=0)
            except MessageError:
                continue
            if key == f"rate/{row.flow}/{row.operator}":
                appended = appended_ms // 1_000
                second = row.second if abs(row.second - appended) <= StreamParams().clock_s_max else appended
                found[second] = found.get(second, 0) + row.arrivals
        return found

    def rejected(self) -> list[RejectedMetrics]:
        """All that were set aside."""
        topic = METRICS_REJECTED
        return [topic.codec.decode(value, topic="t", partition=0, offset=0) for value, _ in self._read_all(topic.name)]

    def pid(self, name: str) -> int:
        """Of a broker or Redis."""
        return next(each.pid or 0 for each in self.stack.records() if each.name == name)

    def _read(self, topic: str, key: str) -> list[bytes]:
        return [value for value, _ in self._read_all(topic, key)]

    def _read_all(self, topic: str, key: str | None = None) -> list[tuple[bytes, int]]:
        """Values and times of all records that are there now."""
        consumer = Consumer({"bootstrap.servers": self.stack.bootstrap, "group.id": "test", "log_level": 0})
        numbers = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        ends = {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)[1] for number in numbers
        }
        consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
        found: list[tuple[bytes, int]] = []
        left = {number for number, end in ends.items() if end > 0}
        deadline_s = time.monotonic() + PATIENCE_S
        while left:
            assert time.monotonic() < deadline_s, topic
            for record in consumer.consume(1_000, timeout=0.5):
                if record.error() is None:
                    value, number = record.value(), record.partition() or 0
                    if value is not None and key in (None, (record.key() or b"").decode()):
                        found.append((value, record.timestamp()[1]))
                    if (record.offset() or 0) + 1 >= ends[number]:
                        left.discard(number)
        consumer.close()
        return found
