"""A program as users of plain faust-streaming write it; the tests run it as a process and look at what it loses.

    python plain.py STORY BOOTSTRAP SOURCE SINK APP FOLDER

The folder is how a test holds it up: `go` lets a held record pass, `begun` says that one is held. Some stories wait for
further files.
"""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import faust

STORY, BOOTSTRAP, SOURCE, SINK, APP, FOLDER = sys.argv[1:]
SETTINGS: dict[str, dict[str, Any]] = {
    "parallel": {},
    "raising": {},
    "oversize": {},
    "steady": {"broker_heartbeat_interval": 1.0, "broker_session_timeout": 10.0},
    "exactly-once": {"processing_guarantee": "exactly_once"},
    "exactly-once-embedded": {"processing_guarantee": "exactly_once"},
    "stalled": {"broker_commit_interval": 0.5},
    "stale": {"broker_commit_interval": 3600.0},
    "neighbour-stops": {"processing_guarantee": "exactly_once", "broker_commit_interval": 0.5},
    "neighbour-crashes": {},
}
HELD = 5


def new_app(name: str) -> faust.App:
    return faust.App(
        name,
        broker=f"kafka://{BOOTSTRAP}",
        datadir=f"{FOLDER}/faust-{name}",
        web_enabled=False,
        topic_disable_leader=True,
        store="memory://",
        topic_replication_factor=1,
        **SETTINGS[STORY],
    )


app = new_app(APP)
source = app.topic(SOURCE, value_serializer="json")
sink = app.topic(SINK, value_serializer="json")
missing = app.topic(f"{SINK}-missing", value_serializer="json")


def mark(name: str) -> None:
    Path(FOLDER, name).touch()


def has(name: str) -> bool:
    return Path(FOLDER, name).exists()


def tell(name: str, text: str) -> None:
    """At once: a reader sees all of it or nothing."""
    Path(FOLDER, f"{name}.part").write_text(text)
    Path(FOLDER, f"{name}.part").rename(Path(FOLDER, name))


async def until_there(name: str) -> None:
    while not has(name):
        await asyncio.sleep(0.05)


def tell_believed() -> None:
    """The offset of the source that Faust takes for committed."""
    consumer: Any = app.consumer
    believed = [offset for tp, offset in consumer._committed_offset.items() if tp.topic == SOURCE]
    tell("believed", str(believed[0]))


if STORY == "parallel":

    @app.agent(source, concurrency=2)
    async def parallel(stream):
        """Two records at a time; one of them waits for something."""
        async for record in stream:
            while record["n"] == HELD and not has("go"):
                mark("begun")
                await asyncio.sleep(0.05)
            await sink.send(value=record)


elif STORY == "raising":

    @app.agent(source)
    async def raising(stream):
        """Its database is away when one of the records comes."""
        async for record in stream:
            if record["n"] == HELD and not has("go"):
                mark("begun")
                raise RuntimeError("the database is away")
            await sink.send(value=record)


elif STORY == "oversize":

    @app.agent(source)
    async def oversize(stream):
        """One result is larger than its topic takes."""
        async for record in stream:
            await sink.send(value=record | {"padding": "x" * (5_000 if record["n"] == HELD else 1)})


elif STORY == "stalled":
    counts = app.Table("counts", default=int, partitions=1)

    @app.agent(source)
    async def stalled(stream):
        """Counts, and tells a topic that nobody has made."""
        async for record in stream:
            if not has("go"):
                missing.send_soon(value=record)
            counts["all"] += 1
            await sink.send(value={"n": counts["all"]})


else:

    @app.agent(source)
    async def steady(stream):
        """Nothing special."""
        async for record in stream:
            await sink.send(value=record)


if STORY == "stale":

    @app.task
    async def commit_as_a_former_member() -> None:
        """Commits with a generation that the group has left behind, as a process does that was frozen for a while."""
        await until_there("commit")
        consumer: Any = app.consumer
        consumer._thread._consumer._coordinator.generation -= 1
        await consumer.commit()
        tell_believed()


if STORY.startswith("neighbour"):
    neighbour = new_app(f"{APP}-neighbour")

    @neighbour.agent(neighbour.topic(SOURCE, value_serializer="json"))
    async def ignoring(stream):
        """Reads along and does nothing."""
        async for _ in stream:
            pass


if STORY == "neighbour-stops":

    @app.task
    async def stop_the_neighbour() -> None:
        """It is not needed any more."""
        await until_there("stop")
        await neighbour.stop()
        while True:
            tell_believed()
            await asyncio.sleep(0.05)


if STORY == "neighbour-crashes":

    @neighbour.task
    async def crash() -> None:
        """Something that it does beside its records fails."""
        await until_there("crash")
        raise RuntimeError("the database is away")


async def embedded() -> None:
    """Inside a loop of one's own, as one starts an app beside other things."""
    await app.start()
    await asyncio.sleep(3_600)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    if STORY == "exactly-once-embedded":
        asyncio.run(embedded())
    elif STORY.startswith("neighbour"):
        faust.Worker(app, neighbour, loglevel="warn").execute_from_commandline()
    else:
        sys.argv = [sys.argv[0], "worker", "-l", "warn", "--without-web"]
        app.main()
