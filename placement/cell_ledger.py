"""Ledger: what a host has promised. Reservations expire, commitments wait for their activation, active tasks stay.

One rule keeps hosts from being overbooked, whatever ants do at the same time: a booking is accepted only if everything
promised plus the newcomer stays below the cap. A flow that moves within a host counts once, with the larger of its two
loads, because old and new segment run side by side for a moment.
Refusing instead of waiting is what keeps leaders from deadlock: nobody ever holds one host while waiting for another.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from placement.ants.order import Serving
from placement.queueing import IDLE, UTILISATION_CAP, Load


class State(Enum):
    """How firm a promise is."""

    RESERVED = "reserved"
    COMMITTED = "committed"
    ACTIVE = "active"


ENDED_KEPT = 4096
"""Flows of which a host remembers what has ended; an ant that comes later than so many others have ended is a
reservation that runs out."""

_FIRMNESS = {state: place for place, state in enumerate(State)}


@dataclass(frozen=True, slots=True)
class Booking:
    """Tasks of one flow on this host under one epoch of its plan."""

    flow: str
    epoch: int
    mask: int
    load: Load
    state: State
    expires_ms: float
    home: str = ""
    """Where the flow's leader lives; it hears when this host becomes crowded."""
    serves: tuple[Serving, ...] = ()
    """The tasks among these that other flows may tap; how old their messages are is measured once they run."""
    is_guess: bool = False
    """The load is not what anybody has measured: the host has started again, and no ant of the flow has come since."""


class Ledger:
    """All promises of one host, and the load of everything else that runs there."""

    def __init__(self, background: Load = IDLE, *, cap: float = UTILISATION_CAP) -> None:
        self.background = background
        self._cap = cap
        self._bookings: dict[tuple[str, int], Booking] = {}
        self._ended: dict[str, int] = {}
        """flow -> the last epoch that was released: a late ant of it is refused. The last to end is last."""
        self._total: Load | None = None

    def load(self, *, without_flow: str = "") -> Load:
        """Everything promised and running, in one sum; a flow may leave itself out."""
        if not without_flow:
            if self._total is None:
                self._total = self._sum("")
            return self._total
        if not any(flow == without_flow for flow, _ in self._bookings):
            return self.load()
        return self._sum(without_flow)

    def ended(self, flow: str) -> int:
        """The newest epoch of a flow that was released or cancelled here; -1 if none was."""
        return self._ended.get(flow, -1)

    def bookings(self) -> list[Booking]:
        """All bookings in order."""
        return [booking for _, booking in sorted(self._bookings.items())]

    def runs(self, flow: str, *, since_epoch: int) -> bool:
        """Whether a booking of the flow, of this epoch or a later one, is active."""
        return any(
            booking.state is State.ACTIVE
            for (name, epoch), booking in self._bookings.items()
            if name == flow and epoch >= since_epoch
        )

    def serving(self) -> list[Serving]:
        """The tasks that run here now and may be tapped, in order of flow."""
        active = (booking for booking in self._bookings.values() if booking.state is State.ACTIVE and booking.serves)
        return [task for booking in sorted(active, key=lambda each: each.flow) for task in booking.serves]

    def measure(self, background: Load) -> None:
        """Take a new measurement of the load that no flow of ours causes."""
        self.background = background
        self._total = None

    def reload(self, flow: str, load_of_mask: Callable[[int], Load]) -> None:
        """A flow's rates changed: its bookings weigh what they now weigh, room or not."""
        for key, booking in sorted(self._bookings.items()):
            if key[0] == flow:
                self._set(replace(booking, load=load_of_mask(booking.mask), is_guess=False))

    def weigh(self, flow: str, load: Load) -> None:
        """What was guessed of a flow weighs what the host itself sees of it, until its leader's ant knows better."""
        for booking in self.bookings():
            if booking.flow == flow and booking.is_guess:
                self._set(replace(booking, load=load))

    def reserve(self, booking: Booking) -> str | None:
        """Promise room until the booking expires; why not, if there is none.

        An ant that comes twice finds its room; what is firmer by then stays so. A leader that takes over may use an
        epoch that its predecessor never published: what that one booked makes way.
        """
        if booking.epoch <= self.ended(booking.flow):
            return f"epoch {booking.epoch} has ended already"
        held = self._bookings.get((booking.flow, booking.epoch))
        is_same = held is not None and (held.mask, held.home) == (booking.mask, booking.home)
        if held is not None and is_same and held.state is not State.RESERVED:
            return None
        others = self.load(without_flow=booking.flow)
        rho = others.rho + booking.load.rho
        if not rho < self._cap:
            return f"load would be {rho:.3f}, the cap is {self._cap:.2f}"
        self._set(replace(booking, state=State.RESERVED))
        return None

    def restore(self, booking: Booking) -> None:
        """Book what the registry says runs here, room or not: the host has started again and forgotten it."""
        self._set(replace(booking, state=State.ACTIVE, expires_ms=float("inf")))

    def commit(self, flow: str, epoch: int, *, expires_ms: float) -> bool:
        """Make a reservation firm until its activation must have come; False if it is gone."""
        return self._firm(flow, epoch, State.COMMITTED, expires_ms)

    def activate(self, flow: str, epoch: int) -> bool:
        """The plan runs: earlier epochs of the flow end here. False if nothing was committed here."""
        firm = self._firm(flow, epoch, State.ACTIVE, float("inf"))
        self.release(flow, epoch - 1)
        return firm

    def release(self, flow: str, epoch: int) -> bool:
        """End every booking of the flow up to and with that epoch; late ants of those epochs will be refused."""
        gone = [key for key in self._bookings if key[0] == flow and key[1] <= epoch]
        for key in gone:
            del self._bookings[key]
        self._end(flow, epoch)
        if gone:
            self._total = None
        return bool(gone)

    def cancel(self, flow: str, epoch: int) -> bool:
        """Drop one epoch's booking unless it is active; its ant may still come, and will be refused."""
        booking = self._bookings.get((flow, epoch))
        if booking is not None and booking.state is State.ACTIVE:
            return False
        self._end(flow, epoch)
        if booking is None:
            return False
        del self._bookings[flow, epoch]
        self._total = None
        return True

    def expire(self, *, now_ms: float) -> bool:
        """Drop what was promised for too long without becoming firm."""
        gone = [key for key, booking in self._bookings.items() if booking.expires_ms < now_ms]
        for key in gone:
            del self._bookings[key]
        if gone:
            self._total = None
        return bool(gone)

    def _end(self, flow: str, epoch: int) -> None:
        self._ended[flow] = max(epoch, self._ended.pop(flow, -1))
        if len(self._ended) > ENDED_KEPT:
            del self._ended[next(iter(self._ended))]

    def _firm(self, flow: str, epoch: int, state: State, expires_ms: float) -> bool:
        booking = self._bookings.get((flow, epoch))
        if booking is None:
            return False
        if _FIRMNESS[booking.state] < _FIRMNESS[state]:
            self._set(replace(booking, state=state, expires_ms=expires_ms))
        return True

    def _set(self, booking: Booking) -> None:
        self._bookings[booking.flow, booking.epoch] = booking
        self._total = None

    def _sum(self, without_flow: str) -> Load:
        largest: dict[str, Load] = {}
        for (flow, _), booking in sorted(self._bookings.items()):
            if flow != without_flow and booking.load.rho > largest.get(flow, IDLE).rho:
                largest[flow] = booking.load
        total = self.background
        for flow in sorted(largest):
            total = total.plus(largest[flow])
        return total
