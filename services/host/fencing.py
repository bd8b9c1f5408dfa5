"""Fencing: a transactional producer takes its id over from whoever had it, as soon as the broker lets it.

The broker first ends the transaction of the former owner, which takes some milliseconds, and refuses all who ask
meanwhile. aiokafka (0.14) then waits 20 ms, reads the cluster's metadata and asks again; a moved partition pauses for
that. Here it is asked again every few milliseconds, and the metadata are left alone.
"""

from typing import Any

from aiokafka.client import CoordinationType
from aiokafka.errors import ConcurrentTransactions, for_code
from aiokafka.producer.sender import InitPIDHandler

AGAIN_S = 0.004


class _InitPID(InitPIDHandler):
    """One try. `is_early`: the former owner's transaction is still being ended."""

    is_early = False

    def handle_response(self, response: Any) -> float | None:
        pause_s: float | None = super().handle_response(response)
        self.is_early = for_code(response.error_code) is ConcurrentTransactions
        return AGAIN_S if self.is_early else pause_s


async def fence(sender: Any, transactional_id: str) -> None:
    """Returns when no write of an earlier producer with this id can succeed any more; the caller bounds the time.

    `sender`: the producer's, which is not started yet.
    """
    while not sender._txn_manager.has_pid():
        coordinator = await sender._find_coordinator(CoordinationType.TRANSACTION, transactional_id)
        attempt = _InitPID(sender)
        if not await attempt.do(coordinator) and not attempt.is_early:
            await sender.client.force_metadata_update()
