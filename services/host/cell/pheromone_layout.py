"""How a pheromone vector lies in Redis: its key, the deeds that the script takes, and reading it back.

One hash a cell and destination, which a person can read with any Redis client. The script `pheromone.lua` is the only
writer.
"""

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from placement.pheromone import PheromoneParams, Reinforcement, VectorState

SCRIPT = Path(__file__).with_name("pheromone.lua").read_text()
PREFIX = "stig:pheromone:"

_STATISTICS = tuple(
    each.name for each in fields(VectorState) if each.name not in ("neighbours", "probabilities", "prior")
)
_COUNTS = ("trips", "window_trips")


@dataclass(frozen=True, slots=True)
class KeptVector:
    """A vector as Redis has it, and how long it will still have it."""

    destination: str
    state: VectorState
    left_ms: float


def key_of(host: str, destination: str) -> str:
    """Where a vector lies."""
    return f"{PREFIX}{host}:{destination}"


def pattern_of(host: str) -> str:
    """Matches the keys of all vectors of a cell. Hosts' names hold no character that a pattern minds."""
    return key_of(host, "*")


def packed_params(params: PheromoneParams) -> bytes:
    """The parameters as the script reads them."""
    values = {each.name: getattr(params, each.name) for each in fields(params) if each.name != "reinforcement"}
    inverse = params.reinforcement is Reinforcement.INVERSE_TRIP
    return msgspec.msgpack.encode({**values, "inverse_trip": inverse})


def whole(state: VectorState) -> tuple[object, ...]:
    """The deed that puts a vector in the place of whatever is there."""
    statistics = {name: float(getattr(state, name)) for name in _STATISTICS}
    return ("whole", state.neighbours, state.probabilities, state.prior, statistics)


def read_vector(key: str, values: dict[str, str], left_ms: int, expires_after_ms: float, now_ms: float) -> KeptVector:
    """A vector from its hash, on the reader's own clock. Raises ValueError if it is none of ours."""
    names = tuple(sorted(name[2:] for name in values if name.startswith("p/")))
    try:
        statistics: dict[str, Any] = {name: float(values[name]) for name in _STATISTICS}
        left = float(left_ms) if left_ms >= 0 else math.inf
        age_ms = max(0.0, expires_after_ms - left) if math.isfinite(left) else 0.0
        statistics |= {"refreshed_ms": now_ms - age_ms} | {name: int(statistics[name]) for name in _COUNTS}
        state = VectorState(
            neighbours=names,
            probabilities=tuple(float(values[f"p/{name}"]) for name in names),
            prior=tuple(float(values[f"q/{name}"]) for name in names),
            **statistics,
        )
    except (KeyError, OverflowError) as fault:
        raise ValueError(f"{key}: not a pheromone vector: {fault}") from fault
    return KeptVector(key.rpartition(":")[2], state, left)
