"""Probes: what answers is ready, and what does not is not, without an exception."""

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.embedded import EmbeddedStack, StackError, StackParams, probes
from services.embedded.probes import HttpProbe, KafkaProbe, Probe, RedisProbe


class Page(http.server.BaseHTTPRequestHandler):
    """/health is there, other pages are not, and /rude hangs up."""

    def do_GET(self) -> None:
        if self.path == "/rude":
            self.wfile.write(b"no HTTP at all\r\n")
            return
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(("path", "ready"), [("/health", True), ("/other", False), ("/rude", False)])
def test_a_service_is_ready_when_its_health_page_is_there(
    server: str, path: str, ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for people behind a proxy, which must not be asked about the loopback interface."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setattr(probes, "ANSWER_TIMEOUT_S", 60.0)
    assert ready is HttpProbe(url=server + path).answers()


@pytest.mark.parametrize(
    "probe",
    [
        KafkaProbe(bootstrap="127.0.0.1:1", broker_id=1),
        KafkaProbe(bootstrap="not an address"),
        RedisProbe(url="redis://127.0.0.1:1"),
        RedisProbe(url="127.0.0.1:6379"),
        HttpProbe(url="http://127.0.0.1:1/health"),
    ],
    ids=["broker", "no address", "redis", "no url", "http"],
)
def test_where_nobody_listens_nothing_is_ready(probe: Probe) -> None:
    """The supervisor asks long before anything is there."""
    assert not probe.answers()


def test_a_port_that_accepts_but_says_nothing_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker opens its port before it can serve."""
    monkeypatch.setattr(probes, "ANSWER_TIMEOUT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert not KafkaProbe(bootstrap=f"127.0.0.1:{port}").answers()
        assert not RedisProbe(url=f"redis://127.0.0.1:{port}").answers()


def test_what_the_user_runs_may_miss_a_question(tmp_path: Path) -> None:
    """Its machine may be busy just now; where nobody answers, that is told."""

    class Busy:
        def __init__(self, *answers: bool) -> None:
            self.answers = iter(answers).__next__

    stack = EmbeddedStack(StackParams(home=tmp_path, bootstrap="a:1"))
    stack._use_foreign("kafka", "a:1", Busy(False, False, True))  # type: ignore[arg-type]
    with pytest.raises(StackError, match="no redis answers at b:1"):
        stack._use_foreign("redis", "b:1", Busy(False, False, False))  # type: ignore[arg-type]
    assert ["kafka"] == [record.name for record in stack.records()]


@pytest.mark.parametrize("probe", [KafkaProbe(bootstrap="a:1", broker_id=2), RedisProbe(url="b"), HttpProbe(url="c")])
def test_a_probe_survives_being_written_down(probe: Probe) -> None:
    """`status` asks the probes that the supervisor recorded."""
    assert probe == msgspec.json.decode(msgspec.json.encode(probe), type=Probe)
