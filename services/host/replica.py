"""A replica: the state of a task, rebuilt from its snapshot and changelogs, and kept up to date as long as one likes.

A task that starts catches up once, after it has fenced the former owner. A standby on another host follows the
changelogs while the owner works; when it takes over, only the last few changes are missing.
"""

from collections.abc import Mapping

from aiokafka import TopicPartition

from services.host.changelog import apply
from services.host.fetch import BlockConsumer
from services.host.snapshot import SnapshotPlace, load_piece
from services.operators.program import Program

FETCH_BYTES_MAX = 2 << 20
"""A fetched block is applied in one go, so this bounds for how long the host's loop is held up."""


class Replica:
    """`open`, `catch_up` as often as wanted, `close`. `positions`: the next changelog offset for each operator."""

    def __init__(
        self,
        program: Program,
        changelogs: Mapping[str, str],
        snapshots: str,
        partition: int,
        *,
        bootstrap: str,
        client_id: str,
    ) -> None:
        self._program = program
        self._operators = {TopicPartition(topic, partition): operator for operator, topic in changelogs.items()}
        self._snapshots = TopicPartition(snapshots, partition)
        self._consumer = BlockConsumer(
            bootstrap_servers=bootstrap,
            client_id=client_id,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES_MAX,
        )
        self.positions = dict.fromkeys(changelogs, 0)
        self.entries_read = 0

    async def open(self, place: SnapshotPlace | None) -> None:
        """Load the snapshot, if there is one."""
        await self._consumer.start()
        if place is not None:
            await self._read({self._snapshots: place.from_offset}, place)
            self.positions |= place.offsets

    async def catch_up(self) -> None:
        """Read the changelogs to their present end. Before the first call, and after a pause, that may take a while."""
        starts = {at: self.positions[operator] for at, operator in self._operators.items()}
        ends = await self._read(starts, None)
        self.positions = {operator: ends[at] for at, operator in self._operators.items()}

    async def close(self) -> None:
        """Stop reading; the program keeps what was read."""
        await self._consumer.stop()

    async def _read(
        self, starts: Mapping[TopicPartition, int], place: SnapshotPlace | None
    ) -> dict[TopicPartition, int]:
        """Read partitions from these offsets to where they end now, and apply what comes; returns the ends."""
        consumer = self._consumer
        consumer.assign(list(starts))
        ends: dict[TopicPartition, int] = await consumer.end_offsets(list(starts))
        beginnings = await consumer.beginning_offsets(list(starts))
        for at, offset in starts.items():
            consumer.seek(at, max(offset, beginnings[at]))
        waiting = {at for at, offset in starts.items() if max(offset, beginnings[at]) < ends[at]}
        while waiting:
            for at, records in (await consumer.getmany(*waiting, timeout_ms=200)).items():
                if place is not None:
                    self.entries_read += sum(
                        load_piece(self._program, place, record.key, record.value) for record in records
                    )
                else:
                    self.entries_read += len(records)
                    apply(self._program, self._operators[at], records)
            # The position also moves over transaction markers and compacted records, which bring no record.
            waiting = {at for at in waiting if await consumer.position(at) < ends[at]}
        return ends
