"""The Faust app of one segment: an agent on an in-process channel, supervised as a Faust service.

Faust boots it without its own Kafka consumer, producer, conductor and tables (`BootStrategy` is Faust's hook for
that): those lose records and cost a task per record (docs/decisions/0003-faust-boots-without-its-kafka.md). What
remains of Faust is what we want of it: the agent, its stream, its supervision. A fetched block of one partition
travels through it as one event.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import faust
from faust.app.base import BootStrategy

from services.host.inbox import FetchedBlock

CHANNEL_BLOCKS_MAX = 4


class _AgentsOnly(BootStrategy):
    """Start the agents and nothing else."""

    enable_kafka = False
    enable_web = False
    enable_sensors = False

    def server(self) -> Iterable[Any]:
        return self.agents()


class SegmentApp(faust.App):
    """Its own root: a crash in it reaches no other segment. Fixed for its life; a changed segment is a new app."""

    BootStrategy = _AgentsOnly

    def __init__(self, segment_id: str, handle: Callable[[FetchedBlock], None], *, data_folder: Path) -> None:
        super().__init__(
            segment_id,
            broker="kafka://",
            datadir=data_folder,
            autodiscover=False,
            web_enabled=False,
            topic_disable_leader=True,
        )
        self._blocks = self.channel(maxsize=CHANNEL_BLOCKS_MAX)
        # Streams take bare values too. What an event adds (message, acknowledgement, sensors) nobody here would read.
        self._put: Callable[[Any], Awaitable[None]] = self._blocks.put

        async def process(stream: AsyncIterable[FetchedBlock]) -> None:
            async for block in stream:
                handle(block)

        self.agent(self._blocks, name=segment_id, concurrency=1)(process)

    async def begin(self) -> None:
        """Start the agent; blocks may be put from now on."""
        await self.start()
        self.flow_control.resume()  # Faust opens it after a rebalance, which never comes here

    async def put(self, block: FetchedBlock) -> None:
        """Hand a block to the agent; waits while too many are under way."""
        await self._put(block)
