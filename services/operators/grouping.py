"""Grouping: which kind of window folds the records of an aggregate or a top_k."""

from services.operators.changes import Changes
from services.operators.closed_windows import ClosedWindows
from services.operators.fold import Fold
from services.operators.keys import group_reader
from services.operators.session import Sessions
from services.operators.windows import Windows
from topics.flow.specs import Window

Grouping = Changes | ClosedWindows | Sessions


def grouping(by: tuple[str, ...], window: Window | None, fold: Fold) -> Grouping:
    """The records of each `by` and window, folded; without a window, all records of each `by`."""
    groups_of = group_reader(by)
    if window is None:
        return Changes(groups_of, None, fold)
    if window.gap_ms is not None:
        return Sessions(groups_of, window.gap_ms, fold, emits_changes=window.emit == "change")
    if window.emit == "change":
        return Changes(groups_of, Windows.of(window), fold)
    return ClosedWindows(groups_of, Windows.of(window), fold)
