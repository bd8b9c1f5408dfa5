"""Side: faust-streaming as its documentation shows it, an agent with a table, run by its own worker."""

import sys
from collections.abc import AsyncIterable, Sequence
from typing import Any

import faust


def build(arguments: Sequence[str]) -> faust.App:
    """The app, with an agent for the workload."""
    bootstrap, workload, source, sink, group, folder = arguments
    app = faust.App(
        group,
        broker=f"kafka://{bootstrap}",
        datadir=folder,
        store="memory://",
        topic_partitions=4,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
    )
    packets = app.topic(source, key_serializer="raw", value_serializer="json")
    results = app.topic(sink, key_serializer="raw", value_serializer="json")

    if workload == "count-sum":
        totals = app.Table("totals", default=lambda: [0, 0], partitions=4)

        @app.agent(packets)
        async def count_sum(stream: AsyncIterable[dict[str, Any]]) -> None:
            async for packet in stream:
                count, total = totals[packet["src"]]
                count, total = totals[packet["src"]] = [count + 1, total + packet["bytes"]]
                await results.send(key=packet["src"].encode(), value={"src": packet["src"], "n": count, "bytes": total})

    else:

        @app.agent(packets)
        async def filter_project(stream: AsyncIterable[dict[str, Any]]) -> None:
            async for packet in stream:
                if packet["proto"] == "tcp" and packet["bytes"] > 0:
                    slim = {
                        "src": packet["src"],
                        "peer": packet["dst"],
                        "bytes": packet["bytes"],
                        "port": packet["dport"],
                    }
                    await results.send(key=packet["src"].encode(), value=slim)

    return app


if __name__ == "__main__":
    faust.Worker(build(sys.argv[1:7]), loglevel="error").execute_from_commandline()
