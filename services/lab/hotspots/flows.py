"""Flows whose records are dear: a hundred a second are all that a host can do (`programs/played_host`).

So bursts make a host a hot spot at rates that broker, hosts and modelling service carry on two cores. Each record gives
one result, which says when it was sent.
"""

SERVICE_MS = 20.0
"""What a record takes on a host."""
BOUND_MS = 1_000.0
"""Far above what a record takes on a host that keeps up, also while Spark has the cores to itself for a moment."""
USERS = 20
DEAR, LAST = "priced", "users"
"""The operator that takes so long, and the one that gives results."""
_TEXT = f"""
flow: NAME
qos: {{latency_ms: {BOUND_MS:g}}}
sources:
  calls: {{topic: NAME-calls, key: user}}
operators:
  {DEAR}: {{op: filter, input: calls, where: "sent > 0"}}
  {LAST}: {{op: aggregate, input: {DEAR}, by: [user], emit: {{n: count(), sent: max(sent)}}}}
sinks:
  out: {{input: {LAST}, topic: NAME-counts}}
"""
"""One segment with a little state."""


def text_of(flow: str) -> str:
    """Its file."""
    return _TEXT.replace("NAME", flow)


def source_of(flow: str) -> str:
    """Its topic."""
    return f"{flow}-calls"


def sink_of(flow: str) -> str:
    """Its topic."""
    return f"{flow}-counts"


def record(user: int, sent_us: int) -> dict[str, object]:
    """What is sent; `sent` is in the result again."""
    return {"user": f"u{user}", "sent": sent_us}
