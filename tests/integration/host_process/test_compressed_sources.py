"""Sources are whatever other producers write: a host reads every compression that Kafka knows."""

from collections.abc import Callable

import pytest

FLOW = """
flow: {flow}
sources:
  clicks: {topic: {source}, key: user}
operators:
  real: {op: filter, input: clicks, where: "size > 0"}
sinks:
  out: {input: real, topic: {sink}}
"""


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_source_is_read_however_it_is_compressed(pair, stage: Callable, codec: str) -> None:
    """The producer chooses, and the broker keeps its choice: a codec that can't be read parks every partition."""
    flow = stage(FLOW, partitions=2)
    records = [{"user": f"u{i % 5}", "size": i % 3, "note": "the same again and again " * 8} for i in range(300)]
    flow.submit(pair, "a")
    flow.feed(records, compression=codec)
    wanted = [each for each in records if each["size"] > 0]
    results = flow.until_results(len(wanted))
    assert sorted(map(repr, wanted)) == sorted(map(repr, results))
