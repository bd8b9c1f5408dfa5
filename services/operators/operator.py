"""What every operator is: batches in, batches out, and all that it remembers in tables.

An operator is made from its spec alone (`services.operators.factory`) and used by one `Program` for one partition. It
must give the same results however its input is cut into batches, also when between two batches its tables are drained
and restored into a fresh operator (and `restored()` called). It knows no clock: only event times and watermarks.
"""

from services.operators.batch import Batch
from services.operators.rest import Rest
from services.operators.table import Table


class Operator:
    """Stateless operators inherit the empty `tables` and `restored`; those with state set their own."""

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

    def restored(self) -> None:
        """Rebuild what is derived from the tables, which have just been filled."""
