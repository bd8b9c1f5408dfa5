"""Which cluster a command talks to: the one that is named, else that of the running stack."""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from services.embedded.errors import NotRunningError
from services.embedded.home import Home
from services.embedded.record import read_record
from services.settings import load_settings

BootstrapOption = Annotated[
    str | None,
    typer.Option("--bootstrap", help="The Kafka cluster, as host:port.", show_default="the running stack's"),
]


class Cluster(NamedTuple):
    """Where it is, and after how many seconds without a report a host of it is lost."""

    bootstrap: str
    silent_s: float


def bootstrap_of(bootstrap: str | None, home: Path | None) -> str:
    """The address from the flag or a setting, else from the stack that runs in the home."""
    return cluster_of(bootstrap, home).bootstrap


def cluster_of(bootstrap: str | None, home: Path | None) -> Cluster:
    """From flag and settings, else from the stack that runs in the home, as it was started."""
    settings = load_settings({"home": home, "bootstrap": bootstrap}).settings
    if settings.bootstrap is not None:
        return Cluster(settings.bootstrap, settings.silent_s)
    place = Home(settings.home)
    record = read_record(place.record) if place.holder() is not None else None
    if record is None or not record.bootstrap:
        raise NotRunningError(
            f"nothing runs in {settings.home}", "start it with stigmergy up, or name your Kafka with --bootstrap"
        )
    return Cluster(record.bootstrap, record.silent_s)


def known_redis(redis_url: str | None, home: Path | None) -> str | None:
    """The address from the flag or a setting, else from the stack that runs in the home; None if there is neither."""
    settings = load_settings({"home": home, "redis_url": redis_url}).settings
    if settings.redis_url is not None:
        return settings.redis_url
    place = Home(settings.home)
    record = read_record(place.record) if place.holder() is not None else None
    return (record.redis_url or None) if record is not None else None
