"""A takeover: whether a host may fence the former owner of a partition, and whether the partition is its own then.

Only the registry says who owns a partition, and what a host knows of it grows old while it waits for the former owner,
or while it is frozen. Whoever fences the rightful owner loses nothing, but makes it begin anew for nothing (decision
0090). So an answer of the registry counts for a second, and is asked for again while the state is read.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from services.host.seat import Seat
from services.process.ending import end

HANDOVER_PATIENCE_S = 10.0
"""How long a new owner waits for the former one's word. A former owner that is gone is told to nobody but us."""
ANSWER_S_MAX = 1.0
"""How old the registry's answer may be when the former owner is fenced. With a warm target it is a tenth of that."""


async def _always(_partition: int, _epoch: int) -> bool:
    return True


async def _at_once(_partition: int, _epoch: int) -> None:
    return


@dataclass(frozen=True, slots=True)
class Title:
    """What the registry says of a partition and an epoch.

    `is_ours`: whether the partition is this host's with this epoch, as far as it is known here; `still_ours`: by the
    newest registry. `drained` returns when the owner before this epoch has drained it, or when nobody needs to wait for
    that any more.
    """

    is_ours: Callable[[int, int], bool] = lambda partition, epoch: True
    still_ours: Callable[[int, int], Awaitable[bool]] = _always
    drained: Callable[[int, int], Awaitable[None]] = _at_once


async def may_fence(title: Title, seat: Seat, connect: Awaitable[None]) -> bool:
    """Whether it is ours, once the former owner has drained; all is made ready meanwhile."""
    asked_s = time.monotonic()
    is_ours, *_ = await _together(title.still_ours(seat.partition, seat.epoch), _handed_over(title, seat), connect)
    if is_ours and time.monotonic() - asked_s > ANSWER_S_MAX:
        is_ours = await title.still_ours(seat.partition, seat.epoch)
    return is_ours and title.is_ours(seat.partition, seat.epoch)


async def recovered(title: Title, seat: Seat, recover: Awaitable[int]) -> int | None:
    """What was restored; None if it is not ours, so that the one whose it is does not have to fence us first."""
    restored, is_ours = await _together(recover, title.still_ours(seat.partition, seat.epoch))
    return restored if is_ours and title.is_ours(seat.partition, seat.epoch) else None


async def unless_refused(seat: Seat, ready: Awaitable[int | None]) -> int | None:
    """What comes of making a task ready; raises what somebody refuses it with before."""
    refused = seat.refused = asyncio.get_running_loop().create_future()
    under_way = asyncio.ensure_future(ready)
    try:
        await asyncio.wait([under_way, refused], return_when=asyncio.FIRST_COMPLETED)
        if not under_way.done():
            raise refused.result()
        return under_way.result()
    finally:
        seat.refused = None
        await end([under_way])


async def _handed_over(title: Title, seat: Seat) -> None:
    if seat.origin is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HANDOVER_PATIENCE_S):
                await title.drained(seat.partition, seat.epoch)


async def _together(*works: Awaitable[Any]) -> list[Any]:
    """All of these. If one fails, the others must not go on with a task that is being closed."""
    under_way = [asyncio.ensure_future(each) for each in works]
    try:
        return await asyncio.gather(*under_way)
    finally:
        await end(under_way)
