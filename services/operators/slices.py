"""Slices: a program's batch in parts, where a record may become so many rows that not all of a batch fit into memory.

A thousand records of a hot key, each with ten thousand partners in a join, are ten million rows. What a program makes
of a batch is therefore handed out in pieces, each to be written before the next one is made. The slices grow and shrink
with what came of the last ones; a record's own rows are never cut. How a batch is cut makes no difference to the
results (`Operator`): only the last slice carries the watermark of the batch.

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
        self._records = 1
        """How many go in at a time."""
        self._watermarks_ms: dict[str, int] = {}
        self.tried: Mapping[str, int] = {}
        """How many records of the last piece came to each operator that can fail."""

    def run(self, name: str, batch: Batch) -> Iterator[dict[str, Batch]]:
        """What the program makes of a batch of the input `name`, by output, in pieces. At least one; an output's last
        piece has its watermark."""
        records_max = self._program.slice_records[name]
        before_ms = self._watermarks_ms.get(name, BEGINNING_MS)
        self._watermarks_ms[name] = batch.watermark_ms
        if records_max is None or len(batch) <= 1:
            outputs = self._program.process(name, batch)
            self.tried = self._program.tried
            yield outputs
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
                yield {output: follow([each[output] for each in held]) for output in held[0]}
                held, tried, rows = [], Counter(), 0
            begin = end

    def _adapt(self, records: int, rows: int, records_max: int) -> None:
        """So many records have become so many rows."""
        fitting = ROWS_MAX * records // max(rows, 1)
        self._records = max(1, min(fitting, GROWTH_MAX * self._records, records_max))
