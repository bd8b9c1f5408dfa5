"""A gap in aiokafka: what it asserts right after an outage is an outage too.

When all brokers were away for a while, the cluster may answer that it has none. Until the next answer aiokafka's search
for a coordinator fails with an AssertionError ("Did we not perform bootstrap?"), which nobody waits out.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.errors import KafkaConnectionError


@contextmanager
def told_as_outage() -> Iterator[None]:
    """Around whatever looks for a coordinator: then it raises KafkaErrors only."""
    try:
        yield
    except AssertionError as error:
        raise KafkaConnectionError(f"no broker is known at the moment: {error}") from error
