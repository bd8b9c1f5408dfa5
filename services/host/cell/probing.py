"""Probing: round trips to the other hosts, measured over the same topics that ants take. Pure: time is an argument.

A new host is probed a few times in quick succession, later each in turn at a gentle pace.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from topics.ants.probes import Echo, Probe
from topics.messages import LinkMetrics, Sketch


@dataclass(frozen=True, slots=True)
class ProbingParams:
    """How often, and how long to wait."""

    first_probes: int = 4
    first_every_ms: float = 150.0
    every_ms: float = 2_000.0
    """One probe to one host, in turn."""
    patience_ms: float = 3_000.0
    lost_in_a_row: int = 3
    """A host that leaves so many probes unanswered can't be reached, alive or not."""
    meeting_ms: float = 1_500.0
    """Whoever has not answered by then is taken for as far as its region is."""

    def __post_init__(self) -> None:
        if min(self.first_probes, self.first_every_ms, self.every_ms, self.patience_ms, self.lost_in_a_row) <= 0:
            raise ValueError(f"{self}: all of these must be above 0")


@dataclass(slots=True)
class _Peer:
    met_ms: float
    next_ms: float
    probes: int = 0
    unanswered: int = 0
    waiting: dict[int, float] = field(default_factory=dict)
    sent_now: int = 0
    lost_now: int = 0
    has_answered: bool = False
    fresh_ms: list[float] = field(default_factory=list)


class Probing:
    """Of one host. `due` says whom to probe now, `echoed` takes answers, `rows` tells what was measured since."""

    def __init__(self, host: str, params: ProbingParams | None = None) -> None:
        self._host = host
        self._params = params or ProbingParams()
        self._peers: dict[str, _Peer] = {}
        self._serial = 0
        self._turn_ms = 0.0

    def watch(self, peers: Collection[str], *, now_ms: float) -> None:
        """These are the other hosts from now on."""
        for peer in set(self._peers) - set(peers):
            del self._peers[peer]
        for peer in sorted(set(peers) - set(self._peers)):
            self._peers[peer] = _Peer(now_ms, now_ms)

    def due(self, *, now_ms: float) -> list[tuple[str, Probe]]:
        """Probes to send now."""
        self._give_up(now_ms)
        params = self._params
        due = [
            name for name, peer in self._peers.items() if peer.probes < params.first_probes and peer.next_ms <= now_ms
        ]
        known = [(peer.next_ms, name) for name, peer in self._peers.items() if peer.probes >= params.first_probes]
        if known and now_ms >= self._turn_ms:
            due.append(min(known)[1])
            self._turn_ms = now_ms + params.every_ms
        return [(name, self._probe(name, now_ms)) for name in sorted(due)]

    def echoed(self, peer: str, echo: Echo, *, now_ms: float) -> float | None:
        """An answer came: the round trip, or None if the answer was not awaited any more."""
        known = self._peers.get(peer)
        sent_ms = known.waiting.pop(echo.serial, None) if known is not None else None
        if known is None or sent_ms is None:
            return None
        known.unanswered, known.has_answered = 0, True
        round_trip_ms = max(0.0, now_ms - sent_ms - max(0.0, echo.held_ms))
        known.fresh_ms.append(round_trip_ms)
        return round_trip_ms

    def unreachable(self) -> frozenset[str]:
        """Hosts that do not answer."""
        limit = self._params.lost_in_a_row
        return frozenset(name for name, peer in self._peers.items() if peer.unanswered >= limit)

    def strangers(self, *, now_ms: float) -> frozenset[str]:
        """Hosts that are so new that no probe can have come back yet."""
        return frozenset(
            name
            for name, peer in self._peers.items()
            if not peer.has_answered and now_ms - peer.met_ms < self._params.meeting_ms
        )

    def rows(self, *, second: int) -> list[LinkMetrics]:
        """What was measured since the last call, a row for each host with news."""
        rows = []
        for name, peer in sorted(self._peers.items()):
            if peer.fresh_ms or peer.lost_now:
                sketch = Sketch.of(round(sample, 3) for sample in peer.fresh_ms)
                rows.append(
                    LinkMetrics(
                        host=self._host,
                        peer=name,
                        second=second,
                        sent=peer.sent_now,
                        lost=peer.lost_now,
                        round_trip_ms=sketch,
                    )
                )
                peer.sent_now = peer.lost_now = 0
                peer.fresh_ms = []
        return rows

    def _probe(self, name: str, now_ms: float) -> Probe:
        peer = self._peers[name]
        self._serial += 1
        peer.probes += 1
        peer.sent_now += 1
        peer.next_ms = now_ms + self._params.first_every_ms
        peer.waiting[self._serial] = now_ms
        return Probe(self._serial)

    def _give_up(self, now_ms: float) -> None:
        for peer in self._peers.values():
            late = [serial for serial, sent in peer.waiting.items() if now_ms - sent > self._params.patience_ms]
            for serial in late:
                del peer.waiting[serial]
            peer.unanswered += len(late)
            peer.lost_now += len(late)
