"""`python -m services.containers.volumes`: the first container of a stack looks at its volumes before anybody writes.

Kafka and Redis keep their data in volumes of their own, mounted here below one folder: `kafka`, in a world also
`kafka-east`, and `redis`. Another one, the cluster's, has the key that hosts know each other by, made at the first
start, and a note of the versions that wrote to the volumes (ours speaks for all that our own services write): an older
Kafka can't read what a newer one wrote, and would say so only in a long trace, again and again. Redis itself writes its
version into its files, which say more than an image's name where they may be read.
"""

import os
import re
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import msgspec

from services.cluster_key import make_key
from services.settings import SettingsError

CLUSTER = Path("/var/lib/stigmergy/cluster")
VOLUMES = Path("/volumes")
KEY, NOTE = "cluster.key", "written-by.json"
EXIT_REFUSED = 2
HEAD_BYTES = 256
"""So much of a file of Redis has its version."""
EAST = "kafka-east"
"""Only a world has this broker."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """The newest versions that wrote to the volumes of this stack."""

    stigmergy: str
    kafka: str | None = None
    redis: str | None = None


def look(cluster: Path, volumes: Path, environment: Mapping[str, str], *, ours: str) -> None:
    """Makes the key and the note, or raises SettingsError if the volumes belong to something else."""
    theirs, wipe = environment.get("CLUSTER_ID"), _wipe(is_world=(volumes / EAST).exists())
    for kafka in sorted(volumes.glob("kafka*")):
        found = _kafka_cluster(kafka)
        if theirs and found not in (None, theirs):
            raise SettingsError(
                f"the volume of {kafka.name} belongs to the cluster {found}, and STIGMERGY_CLUSTER_ID is {theirs}",
                f"set STIGMERGY_CLUSTER_ID={found} in compose/.env, or begin anew, without the data: {wipe}",
            )
    tags = {name: _tag(environment.get(f"{name.upper()}_IMAGE", "")) for name in ("kafka", "redis")}
    now = Note(stigmergy=ours, **tags)
    _refuse_older("Redis", "STIGMERGY_REDIS_IMAGE", _redis_version(volumes / "redis"), now.redis, wipe)
    before = _read_note(cluster / NOTE, wipe)
    if before is not None:
        _refuse_older("Stigmergy", "STIGMERGY_IMAGE", before.stigmergy, now.stigmergy, wipe)
        _refuse_older("Kafka", "STIGMERGY_KAFKA_IMAGE", before.kafka, now.kafka, wipe)
        _refuse_older("Redis", "STIGMERGY_REDIS_IMAGE", before.redis, now.redis, wipe)
        now = Note(stigmergy=ours, kafka=now.kafka or before.kafka, redis=now.redis or before.redis)
    make_key(cluster / KEY)
    part = (cluster / NOTE).with_suffix(".part")
    part.write_bytes(msgspec.json.encode(now) + b"\n")
    part.rename(cluster / NOTE)


def _wipe(*, is_world: bool) -> str:
    """The command that removes all data of this stack; a world is a project of its own."""
    files = ("compose.yaml", "world.yaml") if is_world else ("compose.yaml",)
    return f"docker compose {' '.join(f'--file compose/{each}' for each in files)} --profile '*' down --volumes"


def _refuse_older(what: str, variable: str, before: str | None, now: str | None, wipe: str) -> None:
    """Raises SettingsError if the volumes were written by a later release; a version that is not known is let pass.

    A release is two numbers; where a tag has but one, such as redis:7, that one.
    """
    if not before or not now:
        return
    digits = min(2, len(_numbers(before)), len(_numbers(now)))
    if _numbers(before)[:digits] > _numbers(now)[:digits]:
        raise SettingsError(
            f"the volumes were written by {what} {before}, and this is {now}: it can't read them",
            f"set {variable} in compose/.env to {before} or newer, or begin anew, without the data: {wipe}",
        )


def _kafka_cluster(folder: Path) -> str | None:
    """The id of the cluster whose data is in this folder; None if there is no data, or it may not be read."""
    try:
        text = (folder / "meta.properties").read_text()
    except (FileNotFoundError, PermissionError):
        return None
    found = re.search(r"^cluster\.id=(\S+)$", text, re.MULTILINE)
    return found[1] if found else "(none)"


def _redis_version(folder: Path) -> str | None:
    """The version of Redis that wrote the files in this folder; None if there are none, or they may not be read."""
    versions = []
    try:
        for path in folder.glob("appendonlydir/*.base.rdb"):
            with path.open("rb") as file:
                versions += re.findall(rb"redis-ver.([0-9.]+)", file.read(HEAD_BYTES), re.DOTALL)
    except OSError:
        return None
    return max((each.decode() for each in versions), key=_numbers, default=None)


def _read_note(path: Path, wipe: str) -> Note | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as fault:
        raise SettingsError(
            f"{path} in the volume of the cluster is no note of ours: {fault}",
            f"is it the volume of something else? To begin anew, without the data: {wipe}",
        ) from fault


def _tag(image: str) -> str | None:
    """The version in an image's name, such as apache/kafka:4.1.0; None if there is none."""
    found = re.search(r":v?(\d+(?:\.\d+)*)[^/]*$", image.partition("@")[0])
    return found[1] if found else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def main() -> None:
    """Entry of the process."""
    try:
        look(CLUSTER, VOLUMES, os.environ, ours=version("stigmergy"))
    except SettingsError as refusal:
        print(f"{refusal.what}\n  next: {refusal.remedy}", file=sys.stderr)  # noqa: T201 - a container's last words
        sys.exit(EXIT_REFUSED)


if __name__ == "__main__":
    main()
