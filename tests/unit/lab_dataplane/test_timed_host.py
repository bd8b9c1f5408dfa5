"""A host that counts what measuring takes: every step of it is on the account, no wait, and nothing before the first
batch."""

import asyncio
import time
from pathlib import Path

import pytest

from services.lab.dataplane.sides.timed_host import Account


def _work(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def test_the_share_is_of_the_time_from_the_first_batch_to_the_last(tmp_path: Path) -> None:
    account = Account()
    measure = account.timed(_work)
    _work(0.05)
    measure(0.03)
    _work(0.03)
    measure(0.03)
    account.write(tmp_path / "share")
    assert 0.5 == pytest.approx(float((tmp_path / "share").read_text()), rel=0.2)


def test_steps_are_counted_and_waits_are_not() -> None:
    account = Account()

    async def report() -> None:
        for _ in range(3):
            _work(0.01)
            await asyncio.sleep(0.01)

    async def beside() -> None:
        _work(0.05)

    async def both() -> None:
        await asyncio.gather(account.timed_steps(report)(), beside())

    asyncio.run(both())
    assert 0.03 == pytest.approx(account.spent_s, rel=0.3)


def test_a_report_that_is_cancelled_ends() -> None:
    ended: list[bool] = []

    async def report() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Account().timed_steps(report)()

    asyncio.run(cancelled())
    assert [True] == ended


def test_without_a_batch_nothing_is_told(tmp_path: Path) -> None:
    Account().write(tmp_path / "share")
    assert not (tmp_path / "share").exists()
