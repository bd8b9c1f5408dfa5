"""What every operator is: batches in, batches out, and all that it remembers in tables.

An operator is made from its spec alone (`services.operators.factory`) and used by one `Program` for one partition. It
must give the same results however its input is cut into batches, also when between two batches its tables are drained
and restored into a fresh operator, all at once or little by little. It knows no clock: only event times and watermarks.
"""

from collections.abc import Iterator

from services.operators.batch import Batch
from services.operators.emptying import emptied
from services.operators.rest import Rest
from services.operators.table import Entries, Table


class Operator:
    """Stateless operators inherit the empty `tables`; those that derive something from theirs keep it up to date in
    `restore` and empty it in `forget`, too."""

    tables: dict[str, Table] = {}  # noqa: RUF012 - never written: an operator with state makes its own

    disk_tables: tuple[str, ...] = ()
    """The tables that need not fit into memory: the operator works on their entries one by one, and keeps no other copy
    of them."""

    slice_records: int | None = None
    """So many records at a time at most, because one may become many rows (`Slices`); None: any number."""

    rest: Rest | None = None
    """What it still has to give out of what time has closed; None: it always gives all at once."""

    def process(self, batch: Batch, port: int) -> Batch | tuple[Batch, ...]:
        """The results of this batch, with the new watermark. Ports count the inputs in the order the spec names them.

        Only a split returns several batches: one for each route, in the spec's order, `otherwise` last.
        """
        raise NotImplementedError

    def restore(self, name: str, entries: Entries) -> None:
        """Bring some of what a changelog or a snapshot tells into a table, and into what is derived from it.

        A standby does this for as long as another host works, so that at a takeover nothing is left to derive. What it
        has brought in is what the owner had at one of its commits only when all is read: in between, entries may be
        older than others.
        """
        self.tables[name].restore(entries)

    def forget(self) -> Iterator[None]:
        """Empty the tables and what is derived from them, a portion with each step; afterwards it is like new."""
        for table in self.tables.values():
            if type(table.data) is dict:
                yield from emptied(table.data)
            else:  # on disk, which empties itself
                table.data.clear()
            table.changed.clear()
