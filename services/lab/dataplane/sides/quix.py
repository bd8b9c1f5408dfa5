"""Side: Quix Streams as its documentation shows it: a dataframe of functions, state in RocksDB with a changelog."""

import sys
from collections.abc import Sequence
from typing import Any

from quixstreams import Application, State  # type: ignore[import-not-found] # lives in an environment of its own


def slim(packet: dict[str, Any]) -> dict[str, Any]:
    """Four fields of a packet."""
    return {"src": packet["src"], "peer": packet["dst"], "bytes": packet["bytes"], "port": packet["dport"]}


def count_sum(packet: dict[str, Any], state: State) -> dict[str, Any]:
    """A source's count and sum so far. State is kept by the record's key, which is the source."""
    count, total = state.get("totals", default=(0, 0))
    count, total = count + 1, total + packet["bytes"]
    state.set("totals", [count, total])
    return {"src": packet["src"], "n": count, "bytes": total}


def run(arguments: Sequence[str]) -> None:
    """Until the process is stopped."""
    bootstrap, workload, source, sink, group, folder = arguments
    app = Application(
        broker_address=bootstrap,
        consumer_group=group,
        auto_offset_reset="earliest",
        commit_interval=1.0,
        state_dir=folder,
        loglevel="ERROR",
    )
    packets = app.dataframe(app.topic(source, key_deserializer="bytes", value_deserializer="json"))
    if workload == "count-sum":
        results = packets.apply(count_sum, stateful=True)
    else:
        results = packets.filter(lambda packet: packet["proto"] == "tcp" and packet["bytes"] > 0).apply(slim)
    results.to_topic(app.topic(sink, key_serializer="bytes", value_serializer="json"))
    app.run()


if __name__ == "__main__":
    run(sys.argv[1:7])
