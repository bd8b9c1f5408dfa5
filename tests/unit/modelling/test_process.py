"""The service as a process of the stack."""

import signal
from pathlib import Path

import pytest

from services.embedded import EmbeddedStack, StackParams
from services.modelling import spark_session
from services.modelling.furnish import modelling_process
from services.modelling.main import parse


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
