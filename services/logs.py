"""Logs of all processes: structured, for people on a terminal and as JSON lines otherwise. Secrets are never written.

Libraries that use Python's own logging come out in the same form.
"""

import logging
import re
import sys
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "***"
_LOUD = {"aiokafka": logging.CRITICAL, "faust": logging.WARNING, "mode": logging.WARNING}
"""Libraries, and what services let them say."""
_SECRET_NAME = re.compile(r"password|passwd|secret|token|authorization|api_?key|credential|cookie", re.IGNORECASE)
_URL_CREDENTIALS = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@]*@")
_ASSIGNED_SECRET = re.compile(
    r"(?P<name>\b[\w.-]*(?:password|passwd|secret|token|api_?key)[\w.-]*\s*[=:]\s*)(?P<value>\"[^\"]*\"|[^\s,;]+)",
    re.IGNORECASE,
)


def configure_logs(level: str = "info", form: str = "auto", stream: TextIO | None = None) -> None:
    """Sets up logging for this process. `form`: human, json, or auto: human if the stream is a terminal."""
    stream = stream or sys.stderr
    human = form == "human" or (form == "auto" and stream.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if human else "iso", utc=not human),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        hide_secrets,
    ]
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty()) if human else structlog.processors.JSONRenderer()
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.NOTSET)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def configure_service_logs(level: str, form: str) -> None:
    """As for all processes, but with quiet libraries: in an outage the Kafka client writes 200 lines a second.

    What matters of it, our own code says: tasks that fail, fetches that fail, reports that are dropped.
    """
    configure_logs(level, form)
    if level != "debug":
        for name, quiet in _LOUD.items():
            logging.getLogger(name).setLevel(quiet)


def hide_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Hides values whose name says that they are secret, and credentials inside texts."""
    return {name: HIDDEN if _SECRET_NAME.search(name) else hide_in_values(value) for name, value in event.items()}


def hide_in_text(text: str) -> str:
    """The text without credentials: those of a URL, and what is assigned to a name that sounds secret."""
    text = _URL_CREDENTIALS.sub(rf"\g<scheme>{HIDDEN}@", text)
    return _ASSIGNED_SECRET.sub(rf"\g<name>{HIDDEN}", text)


def hide_in_values(value: Any) -> Any:
    """The value, with texts and secret names anywhere inside it treated as those of a log line."""
    if isinstance(value, str):
        return hide_in_text(value)
    if isinstance(value, dict):
        return {
            name: HIDDEN if _SECRET_NAME.search(str(name)) else hide_in_values(inner) for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [hide_in_values(inner) for inner in value]
    return value
