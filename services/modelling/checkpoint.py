"""The folder in which Spark keeps how far it has read and the sums of open seconds; and what those sums are of.

Spark goes on from a checkpoint only with the query that wrote it: a further sum is refused, and sums in another order
would be taken for one another without a word. So the shape of the sums is written beside them, and a checkpoint of
another shape (after an upgrade, or back) is put aside before Spark sees it. So is one that is older than the window of
all models: else they would wait until Spark has worked off what nobody needs. That costs no model anything that the
metrics topics still have; but what is left out nobody looks at, nor at the garbage in it (`skipped.py`).
"""

import contextlib
import json
import shutil
from pathlib import Path

import structlog
from pyspark.sql.types import StructType

from services.modelling.sums import COLUMNS, GAUGES

log = structlog.get_logger(__name__)

Places = dict[tuple[str, int], int]
"""Of topics and partitions the next offset."""
SHAPE = "shape.json"
"""In the checkpoint's folder: where that goes, it goes."""


def shape_of(sums: StructType) -> str:
    """What the sums of this schema are, name by name: two queries of one shape may share a checkpoint."""
    return json.dumps({"columns": COLUMNS, "gauges": GAUGES, "rows": sums.simpleString()})


def agree(checkpoint: Path, shape: str) -> Places:
    """Leaves a checkpoint of this shape as it is; one of another shape, or of none, is put aside (`put_aside`)."""
    told, places = checkpoint / SHAPE, Places()
    if checkpoint.exists() and any(checkpoint.iterdir()):
        if told.exists() and told.read_text(errors="replace") == shape:
            return places
        places = put_aside(checkpoint, "outdated")
    checkpoint.mkdir(parents=True, exist_ok=True)
    told.write_text(shape)
    return places


def has_begun(checkpoint: Path) -> bool:
    """Whether a query has committed a batch there."""
    return any((checkpoint / "commits").glob("[0-9]*"))


def reached(checkpoint: Path) -> Places:
    """Where the last batch that was committed ended; nothing where none was, or where that can't be read."""
    batches = [int(each.name) for each in (checkpoint / "commits").glob("[0-9]*") if each.name.isdecimal()]
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        *_, words = (checkpoint / "offsets" / str(max(batches))).read_text().splitlines()
        told = json.loads(words)
        return {(topic, int(number)): int(at) for topic, ends in told.items() for number, at in ends.items()}
    return {}


def leave_behind(checkpoint: Path, *, before_ms: int) -> Places:
    """Puts a checkpoint aside (`put_aside`) whose last batch was before this time: no model needs what came since."""
    committed = []
    for each in (checkpoint / "commits").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError):  # a query that is still ending has cleaned up meanwhile
            committed.append(each.stat().st_mtime)
    is_old = bool(committed) and max(committed) * 1_000 < before_ms
    return put_aside(checkpoint, "outdated") if is_old else {}


def put_aside(checkpoint: Path, why: str) -> Places:
    """Lets the next query begin anew; where the one before had come to. The last checkpoint that was put aside for this
    reason is kept for a look."""
    places = reached(checkpoint)
    aside = checkpoint.with_name(f"{checkpoint.name}.{why}")
    shutil.rmtree(aside, ignore_errors=True)
    if checkpoint.exists():
        checkpoint.rename(aside)
    log.warning("the checkpoint can't be used; beginning anew with kept metrics", why=why, put_aside=str(aside))
    return places
