"""Pauses as rows, from one run in which all sides ran on one broker, in turn."""

from dataclasses import dataclass

import numpy as np

from services.lab.dataplane.ground import BenchError, Say
from services.lab.dataplane.stack import bench_ground
from services.lab.moves.sides import (
    GROUP_LOOP,
    OURS,
    PLAIN_FAUST,
    STREAMS,
    Pause,
    group_loop,
    kafka_streams,
    ours,
    plain_faust,
)
from services.lab.results import Row
from services.settings import Settings

CLOSE = 0.3
"""A prediction counts as close within this share of what was measured."""


@dataclass(frozen=True, slots=True)
class Params:
    """`keys` of state and `rate_per_s` for each of two partitions; the others move `others_moves` times each.

    `has_jvm`: also Kafka Streams. With `keys_large` ours also moves a state of that size, `large_moves` times, to be
    compared with the small one.
    """

    keys: int = 100_000
    rate_per_s: int = 1_000
    moves: int = 50
    others_moves: int = 3
    keys_large: int = 0
    large_moves: int = 10
    has_jvm: bool = False

    def __post_init__(self) -> None:
        assert min(self.keys, self.rate_per_s, self.moves, self.large_moves) > 0, self
        assert min(self.others_moves, self.keys_large) >= 0, self


def measure(params: Params, settings: Settings, *, say: Say, warn: Say) -> list[Row]:
    """Start a broker, let every side move, stop everything. A side that fails is left out, and said so."""
    with bench_ground(settings, say=say, warn=warn) as ground:
        found = {OURS: ours(ground, keys=params.keys, rate_per_s=params.rate_per_s, moves=params.moves)}
        others = [(PLAIN_FAUST, plain_faust), (GROUP_LOOP, group_loop)]
        others += [(STREAMS, kafka_streams)] if params.has_jvm else []
        for name, side in others:
            if params.others_moves:
                try:
                    found[name] = side(
                        ground, keys=params.keys, rate_per_s=params.rate_per_s, moves=params.others_moves
                    )
                except BenchError as fault:
                    warn(f"{name} is left out: {fault}")
        made = rows(found)
        if params.keys_large:
            try:
                large = ours(ground, keys=params.keys_large, rate_per_s=params.rate_per_s, moves=params.large_moves)
                made += large_rows(found[OURS], large, keys=params.keys, keys_large=params.keys_large)
            except BenchError as fault:
                warn(f"{params.keys_large:,} keys are left out: {fault}")
    return made


def rows(found: dict[str, list[Pause]]) -> list[Row]:
    """Median and 99th percentile of each side's pauses, what else was seen of ours, and ours over the others'."""
    made: list[Row] = []
    for name, pauses in found.items():
        gaps_ms = [pause.gap.longest_ms for pause in pauses]
        made.append(Row.of(f"pause of a moved partition, median: {name}", gaps_ms, "ms"))
        made.append(Row.quantile(f"pause of a moved partition, p99: {name}", gaps_ms, 0.99, "ms"))
    mine = found[OURS]
    made += _gap_rows("the other partition meanwhile", [p.gap.other_ms for p in mine])
    calm = [p.calm for p in mine if p.calm is not None]
    made += _gap_rows("the other partition before", [gap.other_ms for gap in calm])
    made += _gap_rows("the moved partition before", [gap.longest_ms for gap in calm])
    made += _gap_rows("another flow meanwhile", [p.beside.longest_ms for p in mine if p.beside is not None])
    made += _gap_rows("another flow before", [p.beside_calm.longest_ms for p in mine if p.beside_calm is not None])
    told = [(p.predicted_ms, p.told_ms) for p in mine if p.predicted_ms is not None and p.told_ms]
    seen = [(p.predicted_ms, p.gap.longest_ms) for p in mine if p.predicted_ms is not None]
    if told:
        made.append(Row.of(f"pause as hosts told it: {OURS}", [actual for _, actual in told], "ms"))
        made.append(Row.of("predictions within 30 % of the pause as told", [_close_share(told)], "share"))
    if seen:
        made.append(Row.of("predictions within 30 % of the gap seen at the sink", [_close_share(seen)], "share"))
    median_ms = float(np.median([pause.gap.longest_ms for pause in mine]))
    for name, pauses in found.items():
        if name != OURS:
            shares = [median_ms / pause.gap.longest_ms for pause in pauses]
            made.append(Row.of(f"pause: {OURS} over {name}", shares, "ratio", baseline=name))
    return made


def large_rows(small: list[Pause], large: list[Pause], *, keys: int, keys_large: int) -> list[Row]:
    """Pauses with much more state, and each of them over the median with little."""
    gaps_ms = [pause.gap.longest_ms for pause in large]
    median_ms = float(np.median([pause.gap.longest_ms for pause in small]))
    what = f"pause of a moved partition, {keys_large:,} keys"
    shares = [gap_ms / median_ms for gap_ms in gaps_ms]
    return [
        Row.of(f"{what}, median: {OURS}", gaps_ms, "ms"),
        Row.quantile(f"{what}, p99: {OURS}", gaps_ms, 0.99, "ms"),
        Row.of(f"pause: {keys_large:,} keys over {keys:,}", shares, "ratio", baseline=f"{keys:,} keys"),
    ]


def _close_share(pairs: list[tuple[float, float]]) -> float:
    """Of pairs of what was predicted and what was measured, the share that is close."""
    return sum(abs(predicted - actual) <= CLOSE * actual for predicted, actual in pairs) / len(pairs)


def _gap_rows(of_whom: str, gaps_ms: list[float]) -> list[Row]:
    """Median and 99th percentile of longest gaps; none if there are no gaps."""
    if not gaps_ms:
        return []
    return [
        Row.of(f"longest gap of {of_whom}: {OURS}", gaps_ms, "ms"),
        Row.quantile(f"longest gap of {of_whom}, p99: {OURS}", gaps_ms, 0.99, "ms"),
    ]
