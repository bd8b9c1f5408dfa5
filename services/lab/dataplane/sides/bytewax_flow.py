"""Side: Bytewax as its documentation shows it, with orjson; its state is in memory, and no changelog is kept of it."""

import sys
from collections.abc import Sequence
from typing import Any

import bytewax.operators as op  # type: ignore[import-not-found] # lives in an environment of its own
import orjson  # type: ignore[import-not-found]
from bytewax.connectors.kafka import KafkaSinkMessage, KafkaSourceMessage  # type: ignore[import-not-found]
from bytewax.connectors.kafka import operators as kop
from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
from bytewax.run import cli_main  # type: ignore[import-not-found]

Packet = dict[str, Any]


def slim(message: KafkaSourceMessage) -> KafkaSinkMessage | None:
    """TCP packets with a payload, four fields of them."""
    packet = orjson.loads(message.value)
    if packet["proto"] != "tcp" or packet["bytes"] <= 0:
        return None
    result = {"src": packet["src"], "peer": packet["dst"], "bytes": packet["bytes"], "port": packet["dport"]}
    return KafkaSinkMessage(message.key, orjson.dumps(result))


def keyed(message: KafkaSourceMessage) -> tuple[str, Packet]:
    """A packet with its source as key."""
    packet = orjson.loads(message.value)
    return packet["src"], packet


def count_sum(totals: tuple[int, int] | None, packet: Packet) -> tuple[tuple[int, int], tuple[int, int]]:
    """The new state, and the result."""
    count, total = totals or (0, 0)
    totals = count + 1, total + packet["bytes"]
    return totals, totals


def counted(keyed_totals: tuple[str, tuple[int, int]]) -> KafkaSinkMessage:
    """A result for Kafka."""
    src, (count, total) = keyed_totals
    return KafkaSinkMessage(src.encode(), orjson.dumps({"src": src, "n": count, "bytes": total}))


def build(arguments: Sequence[str]) -> Dataflow:
    """The dataflow of a workload."""
    bootstrap, workload, source, sink, name, _folder = arguments
    flow = Dataflow(name.replace("-", "_"))
    messages = kop.input("packets", flow, brokers=[bootstrap], topics=[source]).oks
    if workload == "count-sum":
        totals = op.stateful_map("count_sum", op.map("keyed", messages, keyed), count_sum)
        results = op.map("counted", totals, counted)
    else:
        results = op.filter_map("slim", messages, slim)
    kop.output("results", results, brokers=[bootstrap], topic=sink)
    return flow


if __name__ == "__main__":
    cli_main(build(sys.argv[1:7]))
