"""How the service keeps its query running, with Spark's part played by hand; and what its health page says."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from services.modelling import service as module
from services.modelling.checkpoint import has_begun
from services.modelling.params import FitParams, ModellingParams, SparkParams
from services.modelling.pipeline import Figures
from services.modelling.service import FIRST_S_MAX, RESTS, SILENT_S_MAX, ClockSetBackError, Service, set_back_s
from services.process.health import UnwellError

Act = Callable[[], None]
WINDOW_S = 120


class Stage:
    """A service whose queries do what they are told to, one after the other; then it is asked to stop."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 10_000_000
        self.now_s = 0.0
        self.begun_ms: list[int | None] = []
        """Since when each query was to read, if it had no checkpoint."""
        self.refilled_ms: list[int] = []
        self.acts: list[Act] = []
        self.checkpoint = folder / "checkpoint"
        self.pipeline = SimpleNamespace(figures=Figures(), refill=self.refilled_ms.append)
        spark = SparkParams(jars=folder, work=folder)
        params = ModellingParams(
            bootstrap="", redis_url=None, checkpoint=self.checkpoint, spark=spark, fits=FitParams(window_s=WINDOW_S)
        )
        self.service = Service(params, now_s=lambda: self.now_s)
        self.service.pipeline = self.pipeline  # type: ignore[assignment]
        monkeypatch.setattr(module, "clock_ms", lambda: self.now_ms)
        monkeypatch.setattr(module, "PAUSE_S", 0.0)
        monkeypatch.setattr(module, "sums_of", lambda *given, **named: SimpleNamespace(schema=StructType()))
        monkeypatch.setattr(
            module.spark_kafka, "stream", lambda *given, since_ms, **named: self.begun_ms.append(since_ms)
        )
        monkeypatch.setattr(self.service, "_query", self._query)

    def play(self, *acts: Act) -> None:
        self.acts = list(acts)
        self.service._keep_querying(None, self.pipeline, lambda: None)  # type: ignore[arg-type]

    def commit(self) -> None:
        """A batch is done now."""
        self.pipeline.figures.batches += 1
        done = self.checkpoint / "commits" / str(self.pipeline.figures.batches)
        done.parent.mkdir(parents=True, exist_ok=True)
        done.touch()
        os.utime(done, (self.now_ms / 1_000, self.now_ms / 1_000))

    def _query(self, *given: Any) -> None:
        act = self.acts.pop(0)
        if not self.acts:
            self.service.stop()
        act()


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_a_query_begins_with_the_window_before_its_own_start(stage: Stage) -> None:
    """A broker may be away for hours: nobody needs the metrics of the time before."""

    def fail_later() -> None:
        stage.now_ms += 3_600_000
        raise PySparkException("no broker")

    stage.play(fail_later, lambda: None)
    assert [10_000_000 - 130_000, 13_600_000 - 130_000] == stage.begun_ms
    assert 1 == stage.pipeline.figures.failures


def test_a_checkpoint_is_gone_on_from_unless_it_is_older_than_the_window(stage: Stage) -> None:
    """What was read since then is a backlog, and models would wait until it is worked off."""
    seen = []

    def fail_after(pause_s: int) -> Act:
        def act() -> None:
            seen.append(has_begun(stage.checkpoint))
            stage.commit()
            stage.now_ms += pause_s * 1_000
            raise PySparkException("no broker")

        return act

    stage.play(fail_after(WINDOW_S - 1), fail_after(WINDOW_S + 1), fail_after(0))
    assert [False, True, False] == seen
    assert has_begun(stage.checkpoint.with_name("checkpoint.outdated"))


def test_after_the_brokers_clock_was_set_back_a_query_begins_with_what_comes(stage: Stage) -> None:
    """By their times metrics of the last hour look newer than all that come: with them Spark would drop these again."""
    seen = []

    def set_back() -> None:
        stage.commit()
        raise ClockSetBackError("it is 3600 s behind")

    def fail() -> None:
        seen.append(has_begun(stage.checkpoint))
        raise PySparkException("no broker")

    stage.play(set_back, fail, lambda: None)
    assert [10_000_000 - 130_000, None, 10_000_000 - 130_000] == stage.begun_ms
    assert [False] == seen


def query(*progress: dict[str, Any], message: str = "Processing new data", has_data: bool = True) -> Any:
    return SimpleNamespace(recentProgress=list(progress), status={"message": message, "isDataAvailable": has_data})


def batch_of(newest: str) -> dict[str, Any]:
    times = {"max": newest, "watermark": "2026-01-01T12:00:00.000Z"}
    return {"timestamp": newest, "eventTime": times, "stateOperators": []}


def test_rows_far_behind_the_watermark_are_of_a_clock_that_was_set_back(stage: Stage) -> None:
    """A host that is a little late is none; a batch without rows says nothing."""
    for progress in (batch_of("2026-01-01T12:00:09.000Z"), batch_of("2026-01-01T11:58:10.000Z")):
        stage.service._look(query(progress), stage.pipeline)  # type: ignore[arg-type]
    assert 3_600.0 == set_back_s(batch_of("2026-01-01T11:00:00.000Z"))
    assert 0.0 == set_back_s({"eventTime": {"watermark": "2026-01-01T12:00:00.000Z"}})
    with pytest.raises(ClockSetBackError, match="3600 s"):
        stage.service._look(query(batch_of("2026-01-01T11:00:00.000Z")), stage.pipeline)  # type: ignore[arg-type]
    stage.service._look(query(), stage.pipeline)  # type: ignore[arg-type]


def is_well(stage: Stage) -> bool:
    try:
        stage.service._health()
    except UnwellError:
        return False
    return True


def look(stage: Stage, *, message: str = "Processing new data", has_data: bool = True) -> bool:
    stage.service._look(query(message=message, has_data=has_data), stage.pipeline)  # type: ignore[arg-type]
    return is_well(stage)


def test_health_says_so_when_no_batch_was_done_for_a_minute(stage: Stage) -> None:
    """A query that hangs, or ends again and again, looked well for ever."""
    stage.commit()
    assert look(stage)
    stage.now_s += SILENT_S_MAX
    assert look(stage)
    stage.now_s += 1
    assert not look(stage)
    stage.service._fault = "no broker"
    with pytest.raises(UnwellError, match="no batch was done for 61 s; last fault: no broker"):
        stage.service._health()
    stage.commit()
    assert look(stage)


@pytest.mark.parametrize("message", RESTS)
def test_who_has_nothing_to_read_is_well(stage: Stage, message: str) -> None:
    """Without a host nobody tells anything, and there are no batches. Who has, and only waits, is not."""
    stage.commit()
    assert look(stage)
    stage.now_s += 10 * SILENT_S_MAX
    assert not look(stage, message=message)
    assert look(stage, message=message, has_data=False)


def test_the_first_batch_may_take_long(stage: Stage) -> None:
    """On a busy machine Spark needs minutes to start: a health check must not end it before."""
    stage.now_s += FIRST_S_MAX
    assert look(stage)
    stage.now_s += 1
    assert not look(stage)


def test_what_ends_beside_the_query_is_told_and_begins_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows were no longer followed, or no page was served, and nobody knew."""
    tries: list[int] = []
    seen: list[str] = []

    async def follow() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise ValueError("a flow that nobody can read")
        stage.service._unwell.pop("flows", None)
        await asyncio.Event().wait()

    async def play() -> None:
        task = asyncio.create_task(stage.service._keep_up("flows", follow))
        while len(tries) < 3:
            if stage.service._unwell:
                with pytest.raises(UnwellError, match="flows ended by ValueError"):
                    stage.service._health()
                seen.append("unwell")
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()

    stage.commit()
    assert look(stage)
    asyncio.run(play())
    assert seen
    assert is_well(stage)
