"""The python operators of the fault test's flows, loaded by the hosts as a user's functions are."""

import time
from pathlib import Path
from typing import Any

UNLUCKY = 13
"""A size that `score` can't bear: such a record becomes a dead letter."""
PACE_S = 0.01


def score(record: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Counts and sums what it has seen of a user, and fails on an unlucky size."""
    state["seen"] = state.get("seen", 0) + 1
    if record["size"] == UNLUCKY:
        raise ValueError(f"size {UNLUCKY} brings no luck")
    state["sum"] = state.get("sum", 0) + record["size"]
    return {**{name: record[name] for name in ("n", "user", "item", "size")}, **state}


def paced(record: dict[str, Any], gate: str) -> dict[str, Any]:
    """Passes records on, slowly as long as the gate exists: what a slow service behind an operator does."""
    if Path(gate).exists():
        time.sleep(PACE_S)
    return record
