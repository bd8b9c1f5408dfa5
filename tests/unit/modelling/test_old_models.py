"""Which keys of the topic of models were told long ago, with the broker's part played by hand."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from services.modelling import old_models
from services.modelling import service as service_module
from services.registry.errors import RegistryError

Play = Callable[..., None]

TOLD = [(1, "a", b"x"), (2, "b", b"x"), (3, "b", None), (4, "c", b"x"), (5, "d", b"x")]


@pytest.mark.parametrize(
    ("before_ms", "old"), [(1, set()), (3, {"a", "b"}), (4, {"a"}), (5, {"a", "c"}), (99, {"a", "c", "d"})]
)
def test_old_is_what_was_told_before_a_time_and_not_deleted_since(
    topic_of_models: Play, before_ms: int, old: set[str]
) -> None:
    """Also where nothing was told later, as on a cluster that was shut down for a day."""
    topic_of_models(old_models, TOLD)
    assert old == old_models.old_keys("", before_ms=before_ms)


def test_so_many_are_read_at_most(topic_of_models: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not compacted yet may be millions: the next time there will be less."""
    topic_of_models(old_models, TOLD)
    monkeypatch.setattr(old_models, "RECORDS_MAX", 2)
    assert {"a", "b"} == old_models.old_keys("", before_ms=99)


def test_without_the_topic_there_are_none(topic_of_models: Play) -> None:
    topic_of_models(old_models, None)
    assert set() == old_models.old_keys("", before_ms=99)


def test_the_service_goes_on_looking_when_the_broker_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that ended for good would be seen when the topic is full, if ever."""
    seen: list[set[str]] = []
    asked: list[int] = []

    def old_keys(bootstrap: str, *, before_ms: int) -> set[str]:
        asked.append(before_ms)
        if len(asked) == 1:
            raise RegistryError("no broker")
        return {"rate/gone/x"}

    monkeypatch.setattr(service_module, "OLD_EVERY_S", 0.0)
    monkeypatch.setattr(service_module, "old_keys", old_keys)
    monkeypatch.setattr(service_module, "clock_ms", lambda: 10_000_000)
    made = service_module.Service(SimpleNamespace(bootstrap=""))  # type: ignore[arg-type]
    made.pipeline = SimpleNamespace(look_at=seen.append)  # type: ignore[assignment]

    async def play_some() -> None:
        task = asyncio.create_task(made._find_old_models())
        async with asyncio.timeout(10):
            while not seen:
                assert not task.done()
                await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(play_some())
    assert {"rate/gone/x"} == seen[0]
    assert {10_000_000 - 3_600_000} == set(asked), "as long as in Redis"
