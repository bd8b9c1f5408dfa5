"""How far a task has come, as its transactions carry it: the changes of its state, pieces of a snapshot, a landmark
from time to time, and the note that stands at its committed offsets.

`write` puts all of it into the open transaction, `landed` hears of the commit. A task made anew gets it back by
`resume`, then `restored`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from aiokafka import TopicPartition

from services.host.changelog import ENTRIES_MAX, drained
from services.host.landmarks import LANDMARK_EVERY_MS, Landmarks
from services.host.memory import Memory
from services.host.remembered import Note, Remembered, fits, pack
from services.host.segment_plan import SegmentPlan
from services.host.snapshot import PIECES_MAX, SnapshotPlace, Snapshots, usable
from services.host.state_sizes import StateSizes
from services.host.task_input import TaskInputs
from services.host.writer import Writer


class Progress:
    """Of one task: what it has written through `writer` about the state in `memory`."""

    def __init__(
        self, plan: SegmentPlan, partition: int, epoch: int, *, memory: Memory, landmarks: Landmarks, writer: Writer
    ) -> None:
        self._plan = plan
        self._partition = partition
        self._epoch = epoch
        self._program = memory.program
        self._changelogs = memory.changelogs
        self._changelog_offsets = dict.fromkeys(self._changelogs, 0)
        self._snapshots = Snapshots(memory.program)
        self._landmarks = landmarks
        self._writer = writer
        self._note = Note()
        self._has_landed = False
        self.sizes = StateSizes(memory.program)

    async def resume(self, note: Note) -> Remembered:
        """Go on from the note at the committed offsets; returns all that belongs to it."""
        self._note = note
        remembered = await self._landmarks.recall(note)
        self._snapshots.place = remembered.snapshot
        return remembered

    def restored(self, changelog_offsets: Mapping[str, int]) -> None:
        """The state was rebuilt from changelogs that end there.

        What they hold since the last snapshot began counts, whoever wrote it: else a partition that moves often would
        never get another one.
        """
        self._changelog_offsets = dict(changelog_offsets)
        self.sizes.restored()
        place = self._snapshots.place
        begun = place.offsets if place is not None else {}
        self._snapshots.changed(sum(end - begun.get(operator, 0) for operator, end in changelog_offsets.items()))

    def snapshot(self, *, now_ms: int) -> SnapshotPlace | None:
        """The newest that is complete and young enough."""
        return usable(self._snapshots.place, now_ms=now_ms)

    def is_landmark_due(self, *, now_ms: int) -> bool:
        """Whether a broker might forget the committed offsets before long."""
        before_ms = self._note.landmark_ms
        return before_ms is None or abs(now_ms - before_ms) >= LANDMARK_EVERY_MS

    async def write(self, inputs: TaskInputs, *, now_ms: int, is_last: bool) -> dict[TopicPartition, tuple[int, str]]:
        """All of it; returns what is to be committed for each input: its offset, and the note that belongs there.

        The first commit of an owner and its last one hold nothing of a snapshot: others wait for them.
        """
        await self._write_changes(now_ms)
        if self._has_landed and not is_last:
            await self._write_snapshot(now_ms)
        offsets, packed = inputs.offsets, pack(inputs.remembered(self._snapshots.place))
        kept = packed if fits(packed) else None
        self._note = replace(self._note, packed=kept)
        if kept is None or self.is_landmark_due(now_ms=now_ms):
            remembered = packed if kept is None else None
            key, value = self._landmarks.entry(self._epoch, offsets, remembered, now_ms=now_ms)
            await self._writer.write(self._plan.landmarks, 0, [key], [value], [now_ms])
            self._note = replace(self._note, landmark_ms=now_ms)
        note = self._note.text()
        return {at: (offset, note) for at, offset in offsets.items()}

    def landed(self, offsets: Mapping[str, int]) -> None:
        """The transaction was committed. `offsets`: for each topic, where its last batch begins."""
        self._has_landed = True
        self._note = replace(self._note, landmark_offset=offsets.get(self._plan.landmarks, self._note.landmark_offset))
        if self._plan.snapshots in offsets:
            self._snapshots.landed(offsets[self._plan.snapshots])
        for operator, topic in self._changelogs.items():
            self._changelog_offsets[operator] = offsets.get(topic, self._changelog_offsets[operator])

    async def _write_changes(self, now_ms: int) -> None:
        self.sizes.changing()
        for operator, keys, values in drained(self._program):
            self._snapshots.changed(len(keys))
            times_ms = [now_ms] * len(keys)
            await self._writer.write(self._changelogs[operator], self._partition, keys, values, times_ms)
            if len(keys) >= ENTRIES_MAX:
                await asyncio.sleep(0)  # more is to come, and others must have their turn

    async def _write_snapshot(self, now_ms: int) -> None:
        if self._snapshots.is_due:
            self._snapshots.begin(self._changelog_offsets.copy(), now_ms=now_ms)
        for _ in range(PIECES_MAX):
            pieces = self._snapshots.pieces()
            if not pieces:
                return
            names, contents = zip(*pieces, strict=True)
            await self._writer.write(self._plan.snapshots, self._partition, names, contents, [now_ms] * len(pieces))
            await asyncio.sleep(0)  # the other tasks of the host have their turn between two pieces
