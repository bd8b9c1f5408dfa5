"""Kept metrics through the same code as a batch: how wrong would the models have been?

Spark sums the history as it sums the stream; the modeller then takes it second by second, as if each had just closed.
What it says of the future is noted, and scored when the future has come.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from services.modelling import spark_kafka
from services.modelling.flow_facts import facts_of
from services.modelling.modeller import Modeller
from services.modelling.params import FitParams, SparkParams, StreamParams
from services.modelling.rows import Rows, Sums, rows_of
from services.modelling.scoreboard import Scoreboard
from services.modelling.spark_session import connector, open_session
from services.modelling.spark_sums import sums_of
from services.registry.snapshot import read_registry
from services.settings import load_settings
from topics.messages import ScoreModel


def run_backtest(bootstrap: str, *, since_ms: int, until_ms: int, master: str = "local[*]") -> list[ScoreModel]:
    """The scores of that time; none if no metrics of it are kept."""
    with tempfile.TemporaryDirectory(prefix="stig-models-") as folder:
        jars = connector(load_settings().settings.cache)
        spark = open_session(SparkParams(master=master, jars=jars, work=Path(folder)))
        try:
            records = spark_kafka.history(spark, bootstrap, since_ms=since_ms, until_ms=until_ms)
            rows = rows_of(sums_of(records, StreamParams(), is_stream=False).toArrow())
        finally:
            spark.stop()
    modeller = Modeller(FitParams())
    modeller.know(facts_of(list(read_registry(bootstrap).flows.values())))
    return replay(rows, modeller)


def replay(rows: Rows, modeller: Modeller) -> list[ScoreModel]:
    """Second by second; the same history gives the same scores."""
    board = Scoreboard(modeller.params.forecast.horizons, keep=1.0)
    for second in seconds_of(rows):
        modeller.take(second)
        board.look(modeller)
    return board.scores()


def seconds_of(rows: Rows) -> Iterator[Rows]:
    """The same rows, one second at a time, each closed by the broker's time."""
    known = [sums.seconds for sums in rows.kinds.values() if len(sums.seconds)]
    if not known:
        return
    for second in np.unique(np.concatenate(known)).tolist():
        kinds = {}
        for kind, sums in rows.kinds.items():
            chosen = np.flatnonzero(sums.seconds == second)
            seats = [sums.seats[place] for place in chosen.tolist()]
            kinds[kind] = Sums(seats, sums.seconds[chosen], sums.values[:, chosen])
        yield Rows(kinds, (), (second + 2) * 1_000 - 1)
