"""Trail: what an ant writes down of its walk, with cycles cut out (Ants 3.4)."""

from typing import NamedTuple


class Trail(NamedTuple):
    """Hosts passed since the source, without cycles.

    `elapsed_ms` counts server queues and links up to the arrival at each host, `distance_ms` links alone.
    `age_ms` and `hops` count everything, cycles too.
    """

    hosts: tuple[str, ...]
    elapsed_ms: tuple[float, ...]
    distance_ms: tuple[float, ...]
    age_ms: float = 0.0
    hops: int = 0

    @classmethod
    def start(cls, host: str) -> "Trail":
        """A trail that begins at its source."""
        return cls((host,), (0.0,), (0.0,))

    @property
    def last(self) -> str:
        """Host of the latest entry."""
        return self.hosts[-1]

    def leave(self, next_host: str, *, wait_ms: float, link_ms: float) -> "Trail | None":
        """The trail after one hop, or None if the ant dies of a cycle longer than half its life."""
        elapsed_ms = self.elapsed_ms[-1] + wait_ms + link_ms
        age_ms = self.age_ms + wait_ms + link_ms
        if next_host not in self.hosts:
            return Trail(
                (*self.hosts, next_host),
                (*self.elapsed_ms, elapsed_ms),
                (*self.distance_ms, self.distance_ms[-1] + link_ms),
                age_ms,
                self.hops + 1,
            )
        kept = self.hosts.index(next_host) + 1
        # Ants 3.4: a cycle greater than half the ant's age destroys the ant.
        if elapsed_ms - self.elapsed_ms[kept - 1] > age_ms / 2:
            return None
        return Trail(self.hosts[:kept], self.elapsed_ms[:kept], self.distance_ms[:kept], age_ms, self.hops + 1)

    def took(self, sender: str, hop_ms: float) -> "Trail":
        """The hop from `sender` to the last host really took so long: what its cell knew was an estimate.

        A hop that a cut cycle took out of the trail changes nothing.
        """
        if len(self.hosts) < 2 or self.hosts[-2] != sender:
            return self
        late_ms = hop_ms - (self.distance_ms[-1] - self.distance_ms[-2])
        return self._replace(
            elapsed_ms=(*self.elapsed_ms[:-1], self.elapsed_ms[-1] + late_ms), age_ms=self.age_ms + late_ms
        )

    def before(self, host: str) -> str | None:
        """The host from which the ant came to `host`; None at the source."""
        at = self.hosts.index(host)
        return self.hosts[at - 1] if at else None

    def after(self, host: str) -> str | None:
        """The host to which the ant went from `host`; None at the end."""
        at = self.hosts.index(host)
        return self.hosts[at + 1] if at + 1 < len(self.hosts) else None

    def trip_ms(self, host: str) -> float:
        """Time from leaving `host` to the end of the trail, queues included."""
        return self.elapsed_ms[-1] - self.elapsed_ms[self.hosts.index(host)]
