"""Wire scales: what simulated control messages would weigh on the live topics, beside the compact form ants count in.

Live, the messages of one topic for one host travel in one envelope: MessagePack with full names, deflated, under a seal
(`topics/ants`). Sealing every envelope of a long run would cost more than the run, so one in `every` is sealed and
stands for that many. Kafka's own framing, replication and acknowledgements are not in it.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from placement.simulator.traffic import Traffic
from topics.ants.envelope import Contents, Travelling, seal
from topics.ants.kinds import TOPIC_OF
from topics.catalogue import ANTS_ROUTING

_KEY = bytes(32)
"""Any key makes seals of the same size."""
_BOOT_ID = "0123456789abcdef0123456789abcdef"


class WireScales:
    """Byte-hops by topic, as if the messages of a run had travelled live."""

    def __init__(self, *, every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; give 1 to weigh each envelope, or more")
        self.traffic = Traffic()
        self._every = every
        self._seen = 0

    def __call__(self, to: str, messages: Sequence[Any], hops: int) -> None:
        """Weigh what leaves together."""
        self._seen += 1
        if self._seen % self._every == 0:
            for topic, ants in groupby(sorted(messages, key=_topic), key=_topic):
                self.traffic.count(topic, self._every * wire_bytes(list(ants), topic=topic, target=to), hops)


def wire_bytes(ants: Sequence[Any], *, topic: str, target: str) -> int:
    """Bytes of one envelope on a topic."""
    contents = Contents(target, _BOOT_ID, 1_000, 1e12, tuple(Travelling(ant, 1, 1e12) for ant in ants))
    return len(ANTS_ROUTING.codec.encode(seal(contents, key=_KEY, topic=topic, target=target), topic=topic))


def _topic(message: Any) -> str:
    return TOPIC_OF[type(message)].name
