"""Settings of the modelling service, checked by themselves."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from placement.forecast import ForecastParams
from placement.hotspots import AlarmParams, CourseParams
from services.settings import LOOPBACK

RING_AHEAD_S = 8
"""Seconds that a host's clock may be ahead, and still have a cell."""
SLACK_S = 10
"""A query that begins reads so much more than a window: the first second read may be half of one."""


@dataclass(frozen=True, kw_only=True)
class FitParams:
    """Which windows are fitted. One step is a second."""

    window_s: int = 120
    recent_s: int = 10
    forecast: ForecastParams = field(default_factory=lambda: ForecastParams(horizons=(1, 10, 60), memory=600))
    courses: CourseParams = field(default_factory=CourseParams)
    """Of hot spots."""
    alarm: AlarmParams = field(default_factory=AlarmParams)
    signature_every_s: int = 10
    """Signatures of bursty streams change slowly, and are large."""

    def __post_init__(self) -> None:
        assert 0 < self.recent_s <= self.window_s, self
        assert self.signature_every_s >= 1, self


@dataclass(frozen=True, kw_only=True)
class StreamParams:
    """How metrics are read.

    - `trigger_ms`: a micro-batch begins so long after the one before, or at once if that took longer;
    - `watermark_s`: metrics later than this are dropped, and counted;
    - `clock_s_max`: a row whose second is further from the broker's time than this gets the broker's;
    - `rows_max`: of one micro-batch; a backlog is worked off in several.
    """

    trigger_ms: int = 1_000
    watermark_s: int = 10
    clock_s_max: int = 5
    rows_max: int = 100_000

    def __post_init__(self) -> None:
        assert self.trigger_ms >= 0, self
        assert 0 < self.clock_s_max < self.watermark_s, self
        assert self.rows_max > 0, self


HEAP_MB = 640
HEAP_MB_PER_OPERATOR = 0.05
"""More for each operator beyond the first 2,000: sums of open seconds, and models on their way to the topic."""


def heap_mb_for(operators: int) -> int:
    """What should do for so many operators (docs/models.md)."""
    return HEAP_MB + math.ceil(max(0, operators - 2_000) * HEAP_MB_PER_OPERATOR)


@dataclass(frozen=True, kw_only=True)
class SparkParams:
    """Which Spark: a `master` as Spark spells it, bounded in memory; `jars` holds the Kafka connector.

    `driver_host`: the address of this machine at which the master's workers reach us.
    """

    master: str = "local[2]"
    memory_mb: int = HEAP_MB
    driver_host: str = LOOPBACK
    jars: Path
    work: Path
    """Scratch space."""


@dataclass(frozen=True, kw_only=True)
class ModellingParams:
    """All of them. `checkpoint`: where Spark keeps how far it has read, and the sums of open windows."""

    bootstrap: str
    redis_url: str | None
    checkpoint: Path
    spark: SparkParams
    port: int | None = None
    fits: FitParams = field(default_factory=FitParams)
    stream: StreamParams = field(default_factory=StreamParams)
