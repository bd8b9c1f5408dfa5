"""Flows whose records are dear: a host that is played slow is busy with a hundred of them a second.

So bursts make a host a hot spot at rates that broker, hosts and modelling service carry on two cores. The work is a
long formula; each record gives one result, which says when it was sent.
"""

import time
from statistics import median

from services.operators.batch import Batch
from services.operators.wiring import flow_program
from topics.flow.file import parse_graph

SLOWNESS = 10.0
"""Of each host: after a millisecond of work it rests for nine."""
BOUND_MS = 500.0
"""Far above what a record takes on a host that keeps up, also while Spark has a core to itself for a moment."""
USERS = 20
LAST = "users"
"""The operator that gives results."""
TRIALS, RECORDS = 10, 50
_LAYOUT = "%j%H%M%S%L%d%m%Y%j%H" * 5
_FORMULA = " + ".join(f"length(format_time(at + {number}, '{_LAYOUT}'))" for number in range(14))
_TEXT = f"""
flow: NAME
qos: {{latency_ms: {BOUND_MS:g}}}
sources:
  calls: {{topic: NAME-calls, key: user}}
operators:
  priced: {{op: filter, input: calls, where: "{_FORMULA} > 0"}}
  checked: {{op: filter, input: priced, where: "{_FORMULA} > 1"}}
  {LAST}: {{op: aggregate, input: checked, by: [user], emit: {{n: count(), sent: max(sent)}}}}
sinks:
  out: {{input: {LAST}, topic: NAME-counts}}
"""
"""One segment with a little state; two formulas, because one may have no more than 2,000 characters."""


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
    return {"user": f"u{user}", "sent": sent_us, "at": sent_us // 1_000}


def service_ms() -> float:
    """What a record takes on such a host, by a short trial on the processor's clock: the middle one of several.

    To be asked while all else runs: processors that share a core slow each other down.
    """
    program = flow_program(parse_graph(text_of("trial")))
    values = [record(number % USERS, number) for number in range(RECORDS)]
    batch = Batch(values, [None] * RECORDS, [0] * RECORDS, range(RECORDS), 0)
    took_s = []
    for _ in range(TRIALS):
        begun_s = time.thread_time()
        program.process(program.inputs[0], batch)
        took_s.append(time.thread_time() - begun_s)
    return median(took_s) / RECORDS * 1e3 * SLOWNESS
