"""Made-up packets: a few hosts talk much, many talk little, and who talks most changes from time to time. Pure."""

import random
from collections.abc import Iterator
from typing import Any

TALKERS = 60
SHIFT_EVERY = 3_000
"""After so many packets others talk most."""
PROTOCOLS = ("tcp", "udp", "icmp")
PROTOCOL_WEIGHTS = (80, 18, 2)


def packets(seed: int) -> Iterator[dict[str, Any]]:
    """Packets without end, the same for the same seed; the sender adds the time."""
    rng = random.Random(seed)
    addresses = [f"10.0.{i // 16}.{i % 16}" for i in range(TALKERS)]
    weights = [1 / (rank + 1) for rank in range(TALKERS)]  # Zipf
    while True:
        rng.shuffle(addresses)
        senders = rng.choices(addresses, weights, k=SHIFT_EVERY)
        for src in senders:
            yield {
                "src": src,
                "dst": rng.choice(addresses),
                "proto": rng.choices(PROTOCOLS, PROTOCOL_WEIGHTS)[0],
                "bytes": min(1_500, 40 + int(rng.expovariate(1 / 400))),
            }
