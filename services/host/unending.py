"""Background work that nobody waits for: what ends it must be heard, and it must go on."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

log = structlog.get_logger(__name__)

AGAIN_S = 1.0


async def unending(work: Callable[[], Awaitable[None]], on_failure: Callable[[Exception], None]) -> None:
    """Does the work again and again, until it is cancelled; `on_failure` hears of each error that ended it."""
    while True:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - any: else all would stand still, and nobody would know
            log.warning("background work failed", work=work.__qualname__, error=repr(error))
            on_failure(error)
        await asyncio.sleep(AGAIN_S)
