"""Desk: what a cell keeps at hand of an order while its scouts pass.

Scouts of one round come in a bundle, ask the same hosts for the same prices and mostly bring the same ways. A cell
answers the second scout from memory, as long as nothing changed in between. A leader that watches asks the same again
in every round: prices, and where a cell knows of every change of delays also answers, last until something changes.
"""

from collections import OrderedDict

from placement.ants.host_view import HostView
from placement.ants.order import Order
from placement.ants.pricing import Pricer, pricer_for
from placement.ants.programme import Ways

Question = tuple[float, Ways]
"""What a scout brings: its position along the trail, its ways so far."""

Stamp = tuple[HostView, int, tuple[tuple[int, int], ...]]
"""The state of a cell: its own host, a count of changes around it, and how it knows the ends that pull at an order."""

_MAX_ORDERS = 32
_MAX_ANSWERS = 32


class Folder:
    """Prices and answers for one order and one load cap, valid for one state of the cell."""

    __slots__ = ("answers", "nearby", "order", "pricers", "stamp")

    def __init__(self, order: Order, stamp: Stamp, pricers: dict[str, Pricer]) -> None:
        self.order = order
        self.stamp = stamp
        self.pricers = pricers
        self.nearby: list[tuple[HostView, float]] | None = None
        self.answers: list[tuple[Question, Ways]] = []


class Desk:
    """The folders of the orders whose scouts came by last."""

    def __init__(self) -> None:
        self._folders: OrderedDict[tuple[str, int, float], Folder] = OrderedDict()

    def open(self, order: Order, alpha: float, *, stamp: Stamp, lasting: bool) -> Folder:
        """The folder of an order; without answers if the cell has changed since (`stamp` differs).

        `lasting`: the stamp tells all that answers depend on. Else they are for the scouts of one round.
        """
        key = (order.flow.name, order.chain, alpha)
        folder = self._folders.get(key)
        alike = folder is not None and folder.order.asks_the_same(order)
        if folder is None or not alike or folder.stamp != stamp or not (lasting or folder.order.round == order.round):
            # A price depends on the order and on the host as it was told of: it is looked at before it is used.
            pricers = folder.pricers if folder is not None and alike else {}
            folder = self._folders[key] = Folder(order, stamp, pricers)
        self._folders.move_to_end(key)
        while len(self._folders) > _MAX_ORDERS:
            self._folders.popitem(last=False)
        return folder

    @staticmethod
    def recall(folder: Folder, question: Question) -> Ways | None:
        """What another scout that brought the same got here."""
        for asked, got in folder.answers:
            if asked == question:
                return got
        return None

    @staticmethod
    def remember(folder: Folder, question: Question, got: Ways) -> None:
        """Keep an answer for the next scout."""
        folder.answers.append((question, got))
        del folder.answers[:-_MAX_ANSWERS]

    @staticmethod
    def pricer(folder: Folder, order: Order, view: HostView, *, cap: float, social: bool, loop_ms: float) -> Pricer:
        """The pricer for a host, shared by the scouts of an order."""
        found = folder.pricers.get(view.host)
        if found is None or found.view is not view or found.loop_ms != loop_ms:
            found = folder.pricers[view.host] = pricer_for(order, view, cap=cap, social=social, loop_ms=loop_ms)
        return found
