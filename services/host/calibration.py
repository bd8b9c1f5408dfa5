"""How fast this machine is, found by a short trial of what hosts do all day: decode, look at, and encode records.

Time is the trial's own CPU time, so a machine that is busy with other things just now is not taken for a slow one.
"""

import time

import msgspec

SLICES = 10
SLICE_S = 0.02
REFERENCE_ROUNDS_PER_S = 4_000.0
"""A host that does so many rounds in a second of CPU time has capacity 1."""

_RECORDS = [
    msgspec.json.encode(
        {"src": f"10.0.0.{i % 50}", "dst": "10.0.1.1", "proto": "tcp", "bytes": 40 + i, "ts": 10**12 + i}
    )
    for i in range(200)
]


def calibrate() -> float:
    """The capacity of this host, relative to the reference: by the best, least disturbed of several short trials."""
    return float(f"{max(_rounds_per_s() for _ in range(SLICES)) / REFERENCE_ROUNDS_PER_S:.3g}")


def _rounds_per_s() -> float:
    decode, encode = msgspec.json.decode, msgspec.json.encode
    rounds = 0
    begin_s = time.thread_time()
    while (spent_s := time.thread_time() - begin_s) < SLICE_S:
        values = [decode(raw) for raw in _RECORDS]
        sums: dict[str, int] = {}
        for value in values:
            if value["proto"] == "tcp":
                sums[value["src"]] = sums.get(value["src"], 0) + value["bytes"]
        for value in values:
            encode({"src": value["src"], "kb": value["bytes"] / 1024})
        rounds += 1
    return rounds / spent_s
