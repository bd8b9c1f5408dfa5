"""Slices: a program's batch in parts, where it may become so many rows that not all of them fit into memory.

A thousand records of a hot key, each with ten thousand partners in a join, are ten million rows. What a program makes
of a batch is therefore handed out in pieces, each to be written before the next one is made. The slices grow and shrink
with what came of the last ones; a record's own rows are never cut. How a batch is cut makes no difference to the
results (`Operator`): only the last slice carries the watermark of the batch. What that closes is handed out in pieces
as well (`Rest`).

Programs without such operators pay nothing: their batch is the only slice. So it is where a user's function is called:
it may be slow, and what was written of its first slice would wait in an open transaction for the last.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from services.operators.batch import BEGINNING_MS, Batch, follow
from services.operators.program import Program

ROWS_MAX = 10_000
"""About so many rows are made at a time, and handed out together."""
GROWTH_MAX = 2


class Slices:
    """The batches of one program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        program.cut(ROWS_MAX)
        self._records = 1
        """How many go in at a time."""
        self._watermarks_ms: dict[str, int] = {}
        self.tried: Mapping[str, int] = {}
        """How many records of the last piece came to each operator that can fail."""
        self.has_more = False
        """Whether another piece comes after the last one."""

    def run(self, name: str, batch: Batch) -> Iterator[dict[str, Batch]]:
        """What the program makes of a batch of the input `name`, by output, in pieces. At least one; an output's last
        piece has its watermark."""
        records_max = self._program.slice_records[name]
        before_ms = self._watermarks_ms.get(name, BEGINNING_MS)
        self._watermarks_ms[name] = batch.watermark_ms
        if records_max is None or len(batch) <= 1:
            yield self._processed(name, batch)
            yield from self._rest(name, batch.watermark_ms)
            return
        held: list[dict[str, Batch]] = []
        tried: Counter[str] = Counter()
        begin = rows = 0
        while begin < len(batch):
            end = min(begin + min(self._records, records_max), len(batch))
            is_last = end == len(batch)
            part = batch.part(begin, end).with_watermark(batch.watermark_ms if is_last else before_ms)
            held.append(self._program.process(name, part))
            rows += sum(map(len, held[-1].values()))
            tried.update(self._program.tried)
            self._adapt(end - begin, self._program.rows_made, records_max)
            if is_last or rows >= ROWS_MAX:
                self.tried = tried
                self.has_more = not is_last or self._program.has_more
                yield {output: follow([each[output] for each in held]) for output in held[0]}
                held, tried, rows = [], Counter(), 0
            begin = end
        yield from self._rest(name, batch.watermark_ms)

    def _rest(self, name: str, watermark_ms: int) -> Iterator[dict[str, Batch]]:
        """What is left of what the watermark of a batch has closed."""
        while self._program.has_more:
            yield self._processed(name, Batch.empty(watermark_ms))

    def _processed(self, name: str, batch: Batch) -> dict[str, Batch]:
        outputs = self._program.process(name, batch)
        self.tried = self._program.tried
        self.has_more = self._program.has_more
        return outputs

    def _adapt(self, records: int, rows: int, records_max: int) -> None:
        """So many records have become so many rows."""
        fitting = ROWS_MAX * records // max(rows, 1)
        self._records = max(1, min(fitting, GROWTH_MAX * self._records, records_max))
