"""The service as a process of the stack."""

import signal
from pathlib import Path

import pytest

from services.embedded import EmbeddedStack, StackParams
from services.modelling import spark_session
from services.modelling.furnish import modelling_process
from services.modelling.main import parse
from services.modelling.params import SparkParams
from services.modelling.spark_session import settings_of


def test_the_stack_does_not_wait_for_it_and_its_command_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`up` is ready before Spark is; checkpoint and scratch space are in the stack's home, which a wipe removes."""
    monkeypatch.setattr(spark_session, "connector", lambda cache: tmp_path / "jars")
    stack = EmbeddedStack(StackParams(home=tmp_path / "home", bootstrap="kafka:9092", redis_url="redis://cache:6379/0"))
    process = modelling_process(stack, "local[2]", 7_000)
    assert not process.is_awaited
    assert signal.SIGINT is process.stop_signal
    monkeypatch.setenv("STIGMERGY_REDIS_URL", process.environment["STIGMERGY_REDIS_URL"])
    params, _, _ = parse(process.command[3:])
    assert ("kafka:9092", "redis://cache:6379/0", 7_000) == (params.bootstrap, params.redis_url, params.port)
    assert "local[2]" == params.spark.master
    assert tmp_path / "home" / "models" in params.checkpoint.parents
    assert "redis://cache" not in " ".join(process.command)


def test_a_cluster_on_other_machines_is_told_where_the_driver_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its executors connect to the driver: loopback would be their own machine."""
    monkeypatch.setattr(spark_session, "connector", lambda cache: tmp_path / "jars")
    command = ["--bootstrap", "kafka:9092", "--folder", str(tmp_path), "--master", "spark://far:7077"]
    here, _, _ = parse(command)
    there, _, _ = parse([*command, "--driver-host", "10.0.0.7"])
    for params, address in ((here, "127.0.0.1"), (there, "10.0.0.7")):
        told = settings_of(params.spark)
        assert {address} == {told["spark.driver.host"], told["spark.driver.bindAddress"], params.spark.driver_host}
        assert "640m" == told["spark.executor.memory"]


def test_its_heap_is_what_the_settings_say_unless_another_one_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the operators do not fit into the default, and `up` starts the service without asking for more."""
    monkeypatch.setattr(spark_session, "connector", lambda cache: tmp_path / "jars")
    stack = EmbeddedStack(StackParams(home=tmp_path / "home", bootstrap="kafka:9092", redis_url="redis://cache:6379/0"))

    def heap(memory_mb: int | None = None) -> str:
        command = modelling_process(stack, "local[2]", 7_000, memory_mb=memory_mb).command
        return settings_of(parse(command[3:])[0].spark)["spark.driver.memory"]

    assert ("640m", "1540m") == (heap(), heap(1_540))
    monkeypatch.setenv("STIGMERGY_MODELS_HEAP_MB", "1024")
    assert ("1024m", "1540m") == (heap(), heap(1_540))


def test_spark_raises_nothing_for_a_number_that_it_cannot_work_with(tmp_path: Path) -> None:
    """One row would end the query again and again: it begins at the same offsets each time."""
    told = settings_of(SparkParams(jars=tmp_path, work=tmp_path))
    assert "false" == told["spark.sql.ansi.enabled"]
    assert "spark.executor.memory" not in told
