"""Desk: what a cell keeps at hand of an order while its scouts pass.

Scouts of one round come in a bundle, ask the same hosts for the same prices and mostly bring the same ways. A cell
answers the second scout from memory, as long as nothing changed in between.
"""

from collections import OrderedDict
from typing import Any

from placement.ants.host_view import HostView
from placement.ants.order import Order
from placement.ants.pricing import Pricer
from placement.ants.programme import Ways

Question = tuple[float, Ways]
"""What a scout brings: its position along the trail, its ways so far."""

_MAX_ORDERS = 8
_MAX_ANSWERS = 32


class Folder:
    """Prices and answers for one order and one load cap, valid for one state of the cell."""

    __slots__ = ("answers", "nearby", "pricers", "stamp")

    def __init__(self, stamp: tuple[Any, ...]) -> None:
        self.stamp = stamp
        self.pricers: dict[str, Pricer] = {}
        self.nearby: list[tuple[HostView, float]] | None = None
        self.answers: list[tuple[Question, Ways]] = []


class Desk:
    """The folders of the orders whose scouts came by last."""

    def __init__(self) -> None:
        self._folders: OrderedDict[tuple[str, int, int, float], Folder] = OrderedDict()

    def open(self, order: Order, alpha: float, *, stamp: tuple[Any, ...]) -> Folder:
        """The folder of an order; an empty one if the cell has changed since (`stamp` differs)."""
        key = (order.flow.name, order.round, order.chain, alpha)
        folder = self._folders.get(key)
        if folder is None or folder.stamp != stamp:
            folder = self._folders[key] = Folder(stamp)
        self._folders.move_to_end(key)
        while len(self._folders) > _MAX_ORDERS:
            self._folders.popitem(last=False)
        return folder

    @staticmethod
    def recall(folder: Folder, question: Question) -> Ways | None:
        """What another scout that brought the same got here."""
        return next((got for asked, got in folder.answers if asked == question), None)

    @staticmethod
    def remember(folder: Folder, question: Question, got: Ways) -> None:
        """Keep an answer for the next scout."""
        folder.answers.append((question, got))
        del folder.answers[:-_MAX_ANSWERS]

    @staticmethod
    def pricer(folder: Folder, order: Order, view: HostView, *, cap: float, social: bool, loop_ms: float) -> Pricer:
        """The pricer for a host, shared by the scouts of an order."""
        found = folder.pricers.get(view.host)
        if found is None or found.view is not view:
            found = folder.pricers[view.host] = Pricer(order, view, cap=cap, social=social, loop_ms=loop_ms)
        return found
