"""What hosts measure, once a second.

JSON, because Spark SQL parses it without Python (docs/decisions/0022-formats-of-topics.md). A row holds sums of one
second, never averages, so that rows can be added over time, partitions and hosts.
`second` is whole seconds since 1970 by the host's clock; the topics carry the broker's append time beside it.
"""

from topics.messages.base import Amount, Count, Message, Name
from topics.messages.sketch import Moments, Sketch


class OperatorMetrics(Message, frozen=True, kw_only=True):
    """One operator on one partition in one second: what the queueing model needs (Ants, section 3.6), and more.

    - `gaps_us`: times between arrivals;
    - `batch`: outputs for each arrival, the paper's batch size;
    - `service_us`: time to process a record;
    - `wait_us`: time a record waited before it was processed;
    - `lag`, `state_bytes`: as they were at the end of the second; the lag is the task's, the state this operator's own;
    - `late`, `dead_letters`: records set aside; `dropped`: late or unreadable ones of a source that another segment
      of the flow sets aside (one reader tells). Nothing else is ever dropped. They are the task's, whichever part they
      failed in, and stand on the row of the segment's first operator alone, so that they add up;
    - `latency_ms`: from the source to here, of sampled records; with what their results waited to be written to a sink
      and, exactly once, to be committed.
    """

    host: Name
    flow: Name
    segment: Name
    operator: Name
    partition: Count
    second: Count
    arrivals: Count
    gaps_us: Moments
    batch: Moments
    service_us: Moments
    wait_us: Moments
    outputs: Count
    lag: Count
    bytes_in: Count
    bytes_out: Count
    state_bytes: Count
    late: Count
    dropped: Count
    dead_letters: Count
    latency_ms: Sketch | None = None


class HostMetrics(Message, frozen=True, kw_only=True):
    """One host in one second.

    - `cpu`: cores in use by the host's process, 1.0 being one whole core;
    - `loop_delay_ms`: how late the event loop ran what was due;
    - `clock_offset_ms`: the broker's clock minus the host's.
    """

    host: Name
    boot_id: Name
    second: Count
    cpu: Amount
    memory_bytes: Count
    capacity: Amount
    operators: Count
    loop_delay_ms: Moments
    loop_delay_ms_max: Amount
    clock_offset_ms: float


class LinkMetrics(Message, frozen=True, kw_only=True):
    """Round trips from one host to another in one second; `lost` of the `sent` probes had no answer in time."""

    host: Name
    peer: Name
    second: Count
    sent: Count
    lost: Count
    round_trip_ms: Sketch
