"""The two workloads that every side runs, one more for hosts alone, and what their results must be.

All read records of about 120 bytes of JSON with the source address as key, and write JSON:

- filter -> project: TCP packets with a payload, four of their fields, two of them renamed;
- count and sum: for every record its source's count and sum of bytes so far, with the state in a changelog;
- score: the few records for which a long formula gives a high score. It keeps a host busy and the broker idle.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PARTITIONS = 4
LATENESS = "10s"
"""No record is that late, so event time costs what it costs, and all sides have the same results."""

Packet = dict[str, Any]
Counts = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Workload:
    """`operators` is its part of a flow file; `result` what one record gives, and None if it gives nothing."""

    name: str
    operators: str
    last: str
    result: Callable[[Packet, Counts], dict[str, Any] | None]

    def flow(self, name: str, *, source: str, sink: str, delivery: str = "at_least_once") -> str:
        """The flow file."""
        return f"""
flow: {name}
delivery: {delivery}
sources:
  packets: {{topic: {source}, key: src, event_time: ts, lateness: {LATENESS}}}
operators:
  {self.operators}
sinks:
  out: {{input: {self.last}, topic: {sink}}}
"""


def _projected(packet: Packet, _counts: Counts) -> dict[str, Any] | None:
    if packet["proto"] != "tcp" or packet["bytes"] <= 0:
        return None
    return {"src": packet["src"], "peer": packet["dst"], "bytes": packet["bytes"], "port": packet["dport"]}


def _counted(packet: Packet, counts: Counts) -> dict[str, Any]:
    count, total = counts.get(packet["src"], (0, 0))
    count, total = counts[packet["src"]] = (count + 1, total + packet["bytes"])
    return {"src": packet["src"], "n": count, "bytes": total}


FILTER_PROJECT = Workload(
    "filter-project",
    """tcp: {op: filter, input: packets, where: "proto == 'tcp' and bytes > 0"}
  slim: {op: project, input: tcp, fields: {src: src, peer: dst, bytes: bytes, port: dport}}""",
    "slim",
    _projected,
)
COUNT_SUM = Workload(
    "count-sum",
    "traffic: {op: aggregate, input: packets, by: [src], emit: {n: count(), bytes: sum(bytes)}}",
    "traffic",
    _counted,
)
WORKLOADS = (FILTER_PROJECT, COUNT_SUM)

_TERMS = tuple(zip(range(31, 79, 2), range(101, 5, -4), strict=True))
_HIGH_SCORE = 760


def _scored(packet: Packet, _counts: Counts) -> dict[str, Any] | None:
    score = sum((packet["bytes"] * factor + packet["sport"]) % modulus for factor, modulus in _TERMS)
    return {"src": packet["src"], "score": score} if score > _HIGH_SCORE else None


SCORE = Workload(
    "score",
    f"""scored: {{op: project, input: packets, fields: {{src: src, score: "{
        " + ".join(f"(bytes * {factor} + sport) % {modulus}" for factor, modulus in _TERMS)
    }"}}}}
  high: {{op: filter, input: scored, where: "score > {_HIGH_SCORE}"}}""",
    "high",
    _scored,
)
