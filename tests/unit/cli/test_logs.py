"""Logs: one form for people, one for programs, and no secrets in either."""

import io
import json
import logging

import pytest
import structlog

from services.logs import configure_logs, configure_service_logs, hide_in_text


def logged(form: str, level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    configure_logs(level, form, stream)
    return stream


def test_without_a_terminal_a_line_is_a_json_object() -> None:
    """Programs read it."""
    stream = logged("auto")
    structlog.get_logger().info("broker ready", took_s=1.5)
    line = json.loads(stream.getvalue())
    assert ("broker ready", "info", 1.5) == (line["event"], line["level"], line["took_s"])
    assert line["timestamp"].endswith("Z")


def test_for_people_a_line_is_text() -> None:
    """With the values beside the event."""
    stream = logged("human")
    structlog.get_logger().info("broker ready", took_s=1.5)
    assert "broker ready" in stream.getvalue()
    assert "took_s=1.5" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_libraries_log_in_the_same_form() -> None:
    """aiokafka and Faust use Python's own logging."""
    stream = logged("json")
    logging.getLogger("aiokafka").warning("lost %s", "leader")
    assert "lost leader" == json.loads(stream.getvalue())["event"]


def test_who_sets_logs_up_anew_hears_libraries_again() -> None:
    """A service had made them quiet in this process, and they stayed so."""
    configure_service_logs("info", "json")
    stream = logged("json")
    logging.getLogger("aiokafka").warning("lost %s", "leader")
    assert "lost leader" == json.loads(stream.getvalue())["event"]


def test_the_level_is_obeyed() -> None:
    """By both kinds of loggers."""
    stream = logged("json", "warning")
    structlog.get_logger().info("quiet")
    logging.getLogger("x").info("quiet")
    assert "" == stream.getvalue()


@pytest.mark.parametrize(
    "name", ["password", "REDIS_PASSWORD", "api_token", "client_secret", "Authorization", "apikey"]
)
@pytest.mark.parametrize("form", ["human", "json"])
def test_what_is_named_like_a_secret_is_hidden(name: str, form: str) -> None:
    """Whatever its value looks like, also inside a structure."""
    stream = logged(form)
    structlog.get_logger().info("connecting", **{name: "hunter2"}, settings={name: ["hunter2"]})
    assert "hunter2" not in stream.getvalue()
    assert "***" in stream.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://user:hunter2@db:6379/0", "redis://***@db:6379/0"),
        ("redis://:hunter2@db", "redis://***@db"),
        ("cannot reach rediss://hunter2@db now", "cannot reach rediss://***@db now"),
        ("sasl.password=hunter2, acks=all", "sasl.password=***, acks=all"),
        ('token: "hunter2"', "token: ***"),
        ("http://host/path@v1", "http://host/path@v1"),
        ("broker-1 ready after 2.0 s", "broker-1 ready after 2.0 s"),
    ],
)
def test_credentials_inside_a_text_are_hidden(text: str, shown: str) -> None:
    """Error messages of libraries often quote the whole address."""
    assert shown == hide_in_text(text)


def test_a_secret_in_an_exception_is_hidden() -> None:
    """Tracebacks are logged too."""
    stream = logged("json")
    try:
        raise ConnectionError("redis://:hunter2@db refused")
    except ConnectionError:
        structlog.get_logger().exception("lost Redis")
    assert "ConnectionError" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
