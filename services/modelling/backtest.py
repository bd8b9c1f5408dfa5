"""Kept metrics through the same code as a batch: how wrong would the models have been?

Spark sums the history as it sums the stream; the modeller then takes it second by second of the broker's time, as it
came, and makes its models. What it says of the future is noted, and scored when the future has come. Bounds and
operators of flows are those of the time, as far as the registry still has them.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from services.modelling import spark_kafka
from services.modelling.flow_history import Assumed, FlowHistory, read_flow_history
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams, SparkParams, StreamParams
from services.modelling.ring import Indices
from services.modelling.rows import Rows, Sums, rows_of
from services.modelling.scoreboard import Scoreboard
from services.modelling.spark_session import connector, open_session
from services.modelling.spark_sums import sums_of
from services.settings import load_settings
from topics.messages import ScoreModel


@dataclass(frozen=True, slots=True)
class Backtest:
    """`scores` of that time, none if no metrics of it are kept; `assumed`: of flows, what is no longer known."""

    scores: list[ScoreModel]
    assumed: list[Assumed]


def run_backtest(
    bootstrap: str, fits: FitParams, *, since_ms: int, until_ms: int, master: str = "local[*]"
) -> Backtest:
    """All metrics that were appended in that time, as far as they are kept."""
    with tempfile.TemporaryDirectory(prefix="stig-models-") as folder:
        jars = connector(load_settings().settings.cache)
        spark = open_session(SparkParams(master=master, jars=jars, work=Path(folder)))
        try:
            records = spark_kafka.history(spark, bootstrap, since_ms=since_ms, until_ms=until_ms)
            rows = rows_of(sums_of(records, StreamParams(), is_stream=False).toArrow())
        finally:
            spark.stop()
    flows = read_flow_history(bootstrap)
    return Backtest(replay(rows, Modeller(fits), flows), flows.assumed(since_ms, until_ms))


def replay(rows: Rows, modeller: Modeller, flows: FlowHistory) -> list[ScoreModel]:
    """Second by second; the same history gives the same scores."""
    board = Scoreboard(modeller.params.forecast.horizons, keep=1.0)
    for second in seconds_of(rows):
        modeller.know(flows.facts_at(second.appended_ms))
        if modeller.take(second):
            modeller.models()  # hot spots are foreseen, and judged, when they are told
            board.look(modeller)
            modeller.sweep()
    return board.scores()


def seconds_of(rows: Rows) -> Iterator[Rows]:
    """The same rows as they were appended, a second of the broker's time at a time (decision 0280)."""
    came = {kind: sums.appended_ms // 1_000 for kind, sums in rows.kinds.items()}
    order = {kind: seconds.argsort(kind="stable") for kind, seconds in came.items()}
    for second in np.unique(np.concatenate(list(came.values()))).tolist():
        kinds = {}
        for kind, sums in rows.kinds.items():
            start, end = np.searchsorted(came[kind], (second, second + 1), sorter=order[kind])
            kinds[kind] = _chosen(sums, order[kind][start:end])
        yield Rows(kinds, (), (second + 1) * 1_000 - 1)


def _chosen(sums: Sums, which: Indices) -> Sums:
    seats = [sums.seats[place] for place in which.tolist()]
    return Sums(seats, sums.seconds[which], sums.values[:, which], sums.appended_ms[which])
