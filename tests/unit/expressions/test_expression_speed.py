"""How fast the compiled forms are against the loop that a good engineer would write by hand."""

import random
import timeit
from collections.abc import Callable
from typing import Any

import pytest

from topics.expressions import compile_mask, compile_object, parse

Run = Callable[[list[dict[str, Any]]], object]


def ns_per_record(run: Run, records: list[dict[str, Any]]) -> float:
    return min(timeit.repeat(lambda: run(records), number=10, repeat=30)) / 10 / len(records) * 1e9


def compared(ours: Run, by_hand: Run, records: list[dict[str, Any]]) -> float:
    """Our time over the hand-written one's, the best of several turns each."""
    turns = [(ns_per_record(ours, records), ns_per_record(by_hand, records)) for _ in range(3)]
    best = min(ours_ns for ours_ns, _ in turns), min(hand_ns for _, hand_ns in turns)
    print(f"ours {best[0]:.1f} ns, by hand {best[1]:.1f} ns a record")
    return best[0] / best[1]


def packets(*, without_bytes: float = 0.0) -> list[dict[str, Any]]:
    rng = random.Random(7)
    return [
        {"proto": rng.choice(["tcp", "udp"]), "src": "10.0.0.1", "dst": "10.0.0.2"}
        | ({} if rng.random() < without_bytes else {"bytes": rng.randrange(1500)})
        for _ in range(2_000)
    ]


@pytest.mark.bench
def test_a_mask_is_within_a_third_of_a_hand_written_comprehension() -> None:
    """Filters are the first thing every record meets."""
    mask = compile_mask(parse("proto == 'tcp' and bytes > 0"))
    assert compared(mask, lambda rs: [r["proto"] == "tcp" and r["bytes"] > 0 for r in rs], packets()) < 1.3


@pytest.mark.bench
def test_a_projection_is_within_a_third_of_a_hand_written_comprehension() -> None:
    """One generated comprehension for all fields, not one call for each."""
    fields = compile_object([("src", parse("src")), ("kb", parse("bytes / 1024"))])
    assert compared(fields, lambda rs: [{"src": r["src"], "kb": r["bytes"] / 1024} for r in rs], packets()) < 1.3


@pytest.mark.bench
@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 1.0])
def test_missing_fields_cost_at_most_three_times_the_clean_stream(share: float) -> None:
    """A field that some records lack is the normal case in the wild."""
    mask = compile_mask(parse("proto == 'tcp' and bytes > 0"))
    lacking = packets(without_bytes=share)
    for _ in range(20):
        mask(lacking)  # until the right form is found
    clean = compile_mask(parse("proto == 'tcp' and bytes > 0"))
    records = packets()
    assert compared(lambda _: mask(lacking), lambda _: clean(records), records) < 3.0
