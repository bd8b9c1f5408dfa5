"""Rolling: the merged panes of one window after another, each made from the one before it.

Neighbouring hopping windows share most of their panes. What a window loses is subtracted, where all accumulators can
do that (their sums are exact, so nothing is left behind); otherwise (min, max, first, last) the groups of the lost
panes are merged anew from the panes that stay. What it gains is then merged in. A group leaves with its last pane.

All of it is derived: after a restart the first window is merged from all of its panes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile

from services.operators.emptying import emptied
from services.operators.fold import Fold, Group, GroupStates
from services.operators.rest import BREATH_GROUPS

Pane = dict[Group, GroupStates]


class Rolling:
    """The states of one window by group. Panes of a closed window never change, so they can be taken out again."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self.clear()

    def clear(self) -> None:
        """Forget the window."""
        self._panes: dict[int, Pane] = {}
        self.merged: Pane = {}
        """The states of the window by group."""
        self._pane_counts: Counter[Group] = Counter()

    def forget(self) -> Iterator[None]:
        """Forget the window, a portion with each step."""
        for each in (self.merged, self._pane_counts, self._panes):
            yield from emptied(each)

    def move_to(self, starts: Sequence[int], panes: dict[int, Pane]) -> Iterator[None]:
        """Let `merged` be the window that has the panes that start at `starts`; windows come in order.

        There may be millions of groups: it takes a breath, a None, whenever it has looked at many of them.
        """
        lost = list(takewhile(lambda start: start < starts[0], self._panes))
        if len(lost) == len(self._panes):
            self.clear()
        else:
            yield from _with_breaths(self._lose(lost))
        gained = list(takewhile(lambda start: start not in self._panes, reversed(starts)))
        yield from _with_breaths(group for start in reversed(gained) for group in self._gain(start, panes[start]))

    def _gain(self, start: int, pane: Pane) -> Iterator[Group]:
        """Each group that it has looked at."""
        merged, fold = self.merged, self._fold
        self._panes[start] = pane
        self._pane_counts.update(pane.keys())
        for group, states in pane.items():
            if group not in merged:
                merged[group] = fold.zeros()
            fold.merge(merged[group], states)
            yield group

    def _lose(self, starts: Sequence[int]) -> Iterator[Group]:
        """Each group that it has looked at."""
        merged, fold, counts = self.merged, self._fold, self._pane_counts
        changed: set[Group] = set()
        for start in starts:
            pane = self._panes.pop(start)
            counts.subtract(pane.keys())
            changed.update(pane)
            if fold.can_subtract:
                for group, states in pane.items():
                    fold.subtract(merged[group], states)
                    yield group
        for group in changed:
            if not counts[group]:
                del counts[group], merged[group]
            elif not fold.can_subtract:
                merged[group] = self._merged_anew(group)
            yield group

    def _merged_anew(self, group: Group) -> GroupStates:
        anew = self._fold.zeros()
        for pane in self._panes.values():
            if group in pane:
                self._fold.merge(anew, pane[group])
        return anew


def _with_breaths(groups: Iterable[Group]) -> Iterator[None]:
    """Look at all of these groups, with a breath after many of them."""
    return (None for _ in islice(groups, BREATH_GROUPS - 1, None, BREATH_GROUPS))
