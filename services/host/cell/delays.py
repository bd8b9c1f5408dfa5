"""Delays: how long data takes between any two hosts, as far as somebody has measured it. Pure.

Every host publishes the round trips that it measured. The lower quartile of the last ones counts: what a busy moment
adds to some of them is no property of the way. Half of it is one hop through Kafka; of the two that a pair's hosts
measured, the smaller. Hosts probe themselves, too: what the shortest such hop takes is the work of broker and clients
that every hop costs (`hop_ms`), and what a hop takes beyond it is the delay between two hosts. A pair that nobody
measured yet is taken for as far apart as its regions are, and else for a guess.

Probes go through whichever broker leads the other's inbox, which may stand anywhere; data goes through the broker that
is best for both (DESIGN 5, the overlay). So hosts measure their ways to all brokers, too, and where both ends have done
that, the way through the best one counts, and no probe: a probe is handled by busy loops at both ends and in a broker,
and once that is taken off, little may be left of a long way. What the shortest of all questions to brokers takes is the
work of asking, no distance.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median, quantiles

from placement.hop import HopParams

SAMPLES = 12
SAME_REGION_MS = 2.0
OTHER_REGION_MS = 20.0
"""Guesses, until the first probe has come back."""
BROKER_PEER = "broker/"
"""A link to a broker has this and the broker's number for a peer. No host's name has a slash."""
CHANGE_SHARE, CHANGE_MS = 0.15, 1.0
"""A delay that moved less than this is the same delay: every change makes cells talk. Any hop differs by milliseconds
from the next one on a busy machine (DESIGN 10)."""


def is_broker(peer: str) -> bool:
    """Whether a link leads to a broker, not to a host."""
    return peer.startswith(BROKER_PEER)


def has_changed(before_ms: float | None, now_ms: float) -> bool:
    """Whether a delay is new, or noticeably another."""
    return before_ms is None or abs(now_ms - before_ms) > max(CHANGE_MS, CHANGE_SHARE * before_ms)


@dataclass(slots=True)
class Delays:
    """`version` counts up with every change. `regions` of all known hosts must be kept up to date by its owner."""

    regions: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    _round_trips_ms: dict[tuple[str, str], deque[float]] = field(default_factory=dict)
    _measured: dict[tuple[str, str], float] = field(default_factory=dict)
    """(who measured, to whom) -> delay."""
    _to_brokers: dict[str, dict[str, float]] = field(default_factory=dict)
    """host -> broker -> delay."""
    _between: dict[tuple[str, str], float] = field(default_factory=dict)
    _through: dict[tuple[str, str], float | None] = field(default_factory=dict)

    def heard(self, host: str, peer: str, round_trip_ms: float) -> None:
        """A host measured the way to another, or to a broker, and back."""
        samples = self._round_trips_ms.setdefault((host, peer), deque(maxlen=SAMPLES))
        samples.append(round_trip_ms)
        delay_ms = (quantiles(samples, n=4)[0] if len(samples) >= 4 else min(samples)) / 2
        known = self._to_brokers.setdefault(host, {}) if is_broker(peer) else None
        before_ms = self._measured.get((host, peer)) if known is None else known.get(peer)
        if not has_changed(before_ms, delay_ms):
            return
        if known is None:
            self._measured[host, peer] = max(0.0, delay_ms)
            self._between.clear()
        else:
            known[peer] = max(0.0, delay_ms)
            self._through.clear()
        self.version += 1

    def forget(self, host: str) -> None:
        """A host is gone; if it returns, it may stand elsewhere."""
        self._round_trips_ms = {pair: samples for pair, samples in self._round_trips_ms.items() if host not in pair}
        self._measured = {pair: delay_ms for pair, delay_ms in self._measured.items() if host not in pair}
        self._to_brokers.pop(host, None)
        self._between.clear()
        self._through.clear()
        self.version += 1

    def is_measured(self, a: str, b: str) -> bool:
        """Whether this is more than a guess."""
        return (a, b) in self._measured or (b, a) in self._measured or self._through_ms(a, b) is not None

    @property
    def hop_ms(self) -> float:
        """What every hop through Kafka costs, wherever its ends are."""
        own = [delay_ms for (a, b), delay_ms in self._measured.items() if a == b]
        return min(own, default=HopParams().base_ms)

    def loop_ms(self, host: str) -> float:
        """What a hop from a host to itself costs beyond any hop: the way to the broker and back, if it is far."""
        through_ms = self._through_ms(host, host)
        return max(0.0, self._measured.get((host, host), 0.0) - self.hop_ms) if through_ms is None else through_ms

    def delay_ms(self, a: str, b: str) -> float:
        """One way, either way, beside what every hop costs."""
        if a == b:
            return 0.0
        through_ms = self._through_ms(a, b)
        if through_ms is not None:
            return through_ms
        probed = [max(0.0, self._measured[pair] - self.hop_ms) for pair in ((a, b), (b, a)) if pair in self._measured]
        return min(probed) if probed else self._guess_ms(a, b)

    def way_ms(self, a: str, b: str) -> float:
        """From a host to another, or to itself."""
        return self.loop_ms(a) if a == b else self.delay_ms(a, b)

    def _through_ms(self, a: str, b: str) -> float | None:
        """Through the best broker; None if nobody has measured the ways of both to the same one."""
        if (a, b) not in self._through:
            ours, theirs = self._to_brokers.get(a, {}), self._to_brokers.get(b, {})
            asking_ms = min(
                (delay_ms for known in self._to_brokers.values() for delay_ms in known.values()), default=0.0
            )
            ways_ms = [ours[broker] + theirs[broker] - 2 * asking_ms for broker in ours.keys() & theirs.keys()]
            self._through[a, b] = min(ways_ms, default=None)
        return self._through[a, b]

    def _guess_ms(self, a: str, b: str) -> float:
        regions = self._regions_of(a, b)
        if regions not in self._between:
            alike = [
                max(0.0, delay_ms - self.hop_ms)
                for pair, delay_ms in self._measured.items()
                if self._regions_of(*pair) == regions and pair[0] != pair[1]
            ]
            guess = SAME_REGION_MS if regions[0] == regions[1] else OTHER_REGION_MS
            self._between[regions] = median(alike) if alike else guess
        return self._between[regions]

    def _regions_of(self, a: str, b: str) -> tuple[str, str]:
        first, second = sorted((self.regions.get(a, ""), self.regions.get(b, "")))
        return first, second
