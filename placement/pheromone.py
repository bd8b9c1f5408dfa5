"""Pheromone: what a cell has learned about the way to each destination.

A `PheromoneVector` maps each neighbour of one cell to the probability of walking there next on the way to one
destination (Ants 3.3). Routing ants on their way back reinforce it, failed scouts weaken it, time evaporates it,
and a vector that nobody refreshed expires. `TripStatistics` tells a good trip from a bad one.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from placement.chance import Chance


class Reinforcement(Enum):
    """How a good trip time becomes the reinforcement r of Ants eq 1."""

    INVERSE_TRIP = "inverse-trip"  # Ants 3.5, literally: r = 1/T
    BEST_RATIO = "best-ratio"  # Departure (decision 40): 1/T has a unit; r = strength * (best/T)^2 has none


@dataclass(frozen=True, slots=True)
class PheromoneParams:
    """What the vectors of every cell have in common."""

    reinforcement: Reinforcement = Reinforcement.BEST_RATIO
    strength: float = 0.1
    """Largest reinforcement of one ant."""
    floor_share: float = 0.05
    """No neighbour's probability falls below floor_share / number of neighbours."""
    confidence_sigmas: float = 1.0
    """A trip is good below mean + confidence_sigmas * sigma."""
    smoothing: float = 0.1
    """Weight of one trip in the running mean and variance."""
    learn_from_all_trips: bool = True
    """Statistics follow every ant. If only good ants counted they would freeze once delays double."""
    best_window_trips: int = 50
    half_life_ms: float = 600_000.0
    """Time in which what ants taught loses half its weight against the scent (or against ignorance)."""
    expires_after_ms: float = 3_600_000.0
    failed_path_factor: float = 0.7
    """A path on which scouts kept failing has its probabilities multiplied by this."""
    rescent_blend: float = 0.9
    """Weight of a new scent against what was learned under the old one."""

    def __post_init__(self) -> None:
        for name in ("strength", "smoothing", "failed_path_factor"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise ValueError(f"{name} is {value}; give a share above 0 and up to 1")
        if not 0 <= self.floor_share < 1:
            raise ValueError(f"floor_share is {self.floor_share}; give a share from 0 to below 1")
        if not 0 <= self.rescent_blend <= 1:
            raise ValueError(f"rescent_blend is {self.rescent_blend}; give a share from 0 to 1")
        if self.best_window_trips < 2:
            raise ValueError(f"best_window_trips is {self.best_window_trips}; give at least 2")
        if min(self.half_life_ms, self.expires_after_ms) <= 0:
            raise ValueError("half_life_ms and expires_after_ms must be above 0; give math.inf for never")


@dataclass(frozen=True, slots=True)
class VectorState:
    """All that a vector knows, for a body that keeps or shows it. `prior`: what it evaporates to."""

    neighbours: tuple[str, ...]
    probabilities: tuple[float, ...]
    prior: tuple[float, ...]
    refreshed_ms: float
    mean_ms: float = 0.0
    variance_ms2: float = 0.0
    trips: int = 0
    best_before_ms: float = math.inf
    best_now_ms: float = math.inf
    window_trips: int = 0

    def __post_init__(self) -> None:
        if not len(self.neighbours) == len(self.probabilities) == len(self.prior):
            raise ValueError("a vector needs one probability and one prior for each neighbour")
        if list(self.neighbours) != sorted(set(self.neighbours)):
            raise ValueError("the neighbours of a vector are sorted, each named once")
        if self.neighbours and not math.isclose(sum(self.probabilities), 1.0, abs_tol=1e-6):
            raise ValueError(f"the probabilities of a vector sum to {sum(self.probabilities)}, not to 1")


class TripStatistics:
    """Running mean, variance and windowed best of the trip time from a cell to one destination."""

    __slots__ = ("_best_before_ms", "_best_now_ms", "_params", "_window_trips", "mean_ms", "trips", "variance_ms2")

    def __init__(self, params: PheromoneParams) -> None:
        self._params = params
        self.mean_ms = 0.0
        self.variance_ms2 = 0.0
        self.trips = 0
        self._best_before_ms = math.inf
        self._best_now_ms = math.inf
        self._window_trips = 0

    @property
    def best_ms(self) -> float:
        """Best trip of the last half to full window: an old record on a network that has slowed down is forgotten."""
        return min(self._best_before_ms, self._best_now_ms)

    def is_good(self, trip_ms: float) -> bool:
        """Whether a trip is statistically good (Ants 3.5: below mu + I(mu, sigma))."""
        if self.trips == 0:
            return True
        return trip_ms <= self.mean_ms + self._params.confidence_sigmas * math.sqrt(self.variance_ms2) + 1e-9

    def record(self, trip_ms: float) -> None:
        """Take one trip into the statistics."""
        if self.trips == 0:
            self.mean_ms = trip_ms
            self.variance_ms2 = (0.3 * trip_ms) ** 2  # one trip says nothing of the spread: start wide
        else:
            weight = max(self._params.smoothing, 1 / (self.trips + 1))
            error_ms = trip_ms - self.mean_ms
            self.mean_ms += weight * error_ms
            self.variance_ms2 += weight * (error_ms * error_ms - self.variance_ms2)
        self.trips += 1
        self._best_now_ms = min(self._best_now_ms, trip_ms)
        self._window_trips += 1
        if self._window_trips >= self._params.best_window_trips // 2:
            self._best_before_ms, self._best_now_ms, self._window_trips = self._best_now_ms, math.inf, 0


class PheromoneVector:
    """Next hop -> probability for one destination, with its trip statistics.

    Invariant: the probabilities of a vector with neighbours sum to 1, and none is below the floor after a change.
    """

    __slots__ = ("_params", "_prior", "neighbours", "probabilities", "refreshed_ms", "statistics")

    def __init__(self, neighbours: Collection[str], params: PheromoneParams, *, now_ms: float) -> None:
        self._params = params
        self.neighbours: list[str] = sorted(neighbours)
        self._prior: list[float] = self._uniform()
        self.probabilities: list[float] = list(self._prior)
        self.statistics = TripStatistics(params)
        self.refreshed_ms = now_ms

    def state(self) -> VectorState:
        """A copy of all that it knows."""
        trips = self.statistics
        return VectorState(
            neighbours=tuple(self.neighbours),
            probabilities=tuple(self.probabilities),
            prior=tuple(self._prior),
            refreshed_ms=self.refreshed_ms,
            mean_ms=trips.mean_ms,
            variance_ms2=trips.variance_ms2,
            trips=trips.trips,
            best_before_ms=trips._best_before_ms,
            best_now_ms=trips._best_now_ms,
            window_trips=trips._window_trips,
        )

    def restore(self, state: VectorState) -> None:
        """Know what another vector knew."""
        self.neighbours = list(state.neighbours)
        self.probabilities = list(state.probabilities)
        self._prior = list(state.prior)
        self.refreshed_ms = state.refreshed_ms
        trips = self.statistics
        trips.mean_ms, trips.variance_ms2, trips.trips = state.mean_ms, state.variance_ms2, state.trips
        trips._best_before_ms, trips._best_now_ms = state.best_before_ms, state.best_now_ms
        trips._window_trips = state.window_trips

    def probability(self, neighbour: str) -> float:
        """Probability of choosing this neighbour; 0 for a stranger."""
        return dict(zip(self.neighbours, self.probabilities, strict=True)).get(neighbour, 0.0)

    def choose(self, rng: Chance, *, now_ms: float, visited: Collection[str] = (), explore: float = 0.0) -> str | None:
        """Draw a next hop among the neighbours not visited, or among all if none is left (Ants 3.4, step 2).

        `explore` is the share of choices that ignore the pheromone. None: this cell has no neighbour.
        """
        open_hops = [k for k, neighbour in enumerate(self.neighbours) if neighbour not in visited]
        if not open_hops:
            open_hops = list(range(len(self.neighbours)))
            if not open_hops:
                return None
        share, left_over = explore / len(self.neighbours), self.faded(now_ms=now_ms)
        weights = [left_over[k] * (1 - explore) + share for k in open_hops]
        left = rng.random() * sum(weights)
        for k, weight in zip(open_hops, weights, strict=True):
            left -= weight
            if left <= 0:
                return self.neighbours[k]
        return self.neighbours[open_hops[-1]]

    def reinforce(self, next_hop: str, trip_ms: float, *, now_ms: float) -> bool:
        """Learn from an ant that came back over `next_hop` after a trip of `trip_ms` to the destination.

        Returns whether the trip was good enough to reinforce (Ants eqs 1 and 2).
        """
        if next_hop not in self.neighbours:
            return False  # the neighbour left while the ant was away
        self.probabilities = self.faded(now_ms=now_ms)
        good = self.statistics.is_good(trip_ms)
        # Ants 3.5: only good trips update the estimates. Departure (decision 40): all do, or they freeze.
        if good or self._params.learn_from_all_trips:
            self.statistics.record(trip_ms)
        self.refreshed_ms = now_ms
        if good:
            r = self._reinforcement(trip_ms)
            k = self.neighbours.index(next_hop)
            self.probabilities = [p * (1 - r) for p in self.probabilities]
            self.probabilities[k] += r
            self._settle()
        return good

    def weaken(self, next_hop: str) -> None:
        """Discourage a hop on which scouts kept failing (Ants 3.7)."""
        if next_hop in self.neighbours and len(self.neighbours) > 1:
            self.probabilities[self.neighbours.index(next_hop)] *= self._params.failed_path_factor
            self._settle()

    def faded(self, *, now_ms: float) -> list[float]:
        """The probabilities as they are by now: since the last refresh they have faded towards the prior.

        Looking refreshes nothing: a vector by which ants walk, and over which none comes back, expires all the same.
        """
        elapsed_ms = now_ms - self.refreshed_ms
        if elapsed_ms <= 0 or math.isinf(self._params.half_life_ms):
            return self.probabilities
        kept = 0.5 ** (elapsed_ms / self._params.half_life_ms)
        return [q + kept * (p - q) for p, q in zip(self.probabilities, self._prior, strict=True)]

    def expired(self, *, now_ms: float) -> bool:
        """Whether the vector has gone unrefreshed for too long (Ants 3.5, end)."""
        return now_ms - self.refreshed_ms > self._params.expires_after_ms

    def scent(self, weights: Mapping[str, float], *, now_ms: float) -> None:
        """Take a prior from a scent wave; once ants have taught this vector, blend instead of replacing."""
        smelled = [weights.get(neighbour, 0.0) for neighbour in self.neighbours]
        total = sum(smelled)
        if total <= 0:
            return
        prior = self._prior = _floored([weight / total for weight in smelled], self._params.floor_share)
        blend = self._params.rescent_blend if self.statistics.trips else 1.0
        if blend < 1:
            prior = [blend * q + (1 - blend) * p for p, q in zip(self.probabilities, prior, strict=True)]
        self.probabilities = prior
        self.refreshed_ms = now_ms
        self._settle()

    def meet(self, neighbour: str) -> None:
        """A new neighbour starts with an equal share."""
        if neighbour not in self.neighbours:
            k = sum(1 for known in self.neighbours if known < neighbour)
            share = 1 / (len(self.neighbours) + 1)
            self.neighbours.insert(k, neighbour)
            self.probabilities = [p * (1 - share) for p in self.probabilities]
            self.probabilities.insert(k, share)
            self._prior = [p * (1 - share) for p in self._prior]
            self._prior.insert(k, share)
            self._settle()

    def lose(self, neighbour: str) -> None:
        """A neighbour that died leaves its probability to the others."""
        if neighbour in self.neighbours:
            k = self.neighbours.index(neighbour)
            del self.neighbours[k], self.probabilities[k], self._prior[k]
            self._prior = _floored(self._prior, self._params.floor_share)
            self._settle()

    def _uniform(self) -> list[float]:
        return [1 / len(self.neighbours) for _ in self.neighbours]

    def _reinforcement(self, trip_ms: float) -> float:
        if self._params.reinforcement is Reinforcement.INVERSE_TRIP:
            return min(1.0, 1 / trip_ms) if trip_ms > 0 else 1.0
        if trip_ms <= 0:
            return self._params.strength
        return self._params.strength * min(1.0, self.statistics.best_ms / trip_ms) ** 2

    def _settle(self) -> None:
        self.probabilities = _floored(self.probabilities, self._params.floor_share)


def _floored(weights: Sequence[float], floor_share: float) -> list[float]:
    """Scale weights to sum to 1 with none below floor_share / their number."""
    if not weights:
        return []
    floor = floor_share / len(weights)
    total = sum(weights)
    if total <= 0:
        return [1 / len(weights)] * len(weights)
    shares = [weight / total for weight in weights]
    if min(shares) >= floor:
        return shares
    level = floor
    while True:  # raising some takes from the rest, which may push another below the floor
        above = [share for share in shares if share >= level]
        free, rest = 1 - floor * (len(shares) - len(above)), sum(above)
        scaled = [floor if share < level else share * free / rest for share in shares]
        if min(scaled) >= floor:
            return scaled
        level = min(share for share in above if share * free / rest >= floor)


class PheromoneTable:
    """All pheromone vectors of one cell, by destination."""

    __slots__ = ("_params", "_vectors", "neighbours")

    def __init__(self, neighbours: Collection[str], params: PheromoneParams) -> None:
        self._params = params
        self.neighbours: set[str] = set(neighbours)
        self._vectors: dict[str, PheromoneVector] = {}

    def vector(self, destination: str, *, now_ms: float) -> PheromoneVector:
        """The vector for a destination; a fresh, equiprobable one if there is none or it expired."""
        found = self._vectors.get(destination)
        if found is None or found.expired(now_ms=now_ms):
            found = self._vectors[destination] = self._fresh(destination, now_ms=now_ms)
        return found

    def restore(self, destination: str, state: VectorState, *, now_ms: float) -> None:
        """Take back what was kept of a vector, with the neighbours that this cell has now."""
        vector = self._vectors[destination] = self._fresh(destination, now_ms=now_ms)
        vector.restore(state)
        for stranger in sorted(set(state.neighbours) - self.neighbours):
            vector.lose(stranger)
        for neighbour in sorted(self.neighbours):
            vector.meet(neighbour)

    def known(self, destination: str, *, now_ms: float) -> PheromoneVector | None:
        """The vector for a destination if a live one exists."""
        found = self._vectors.get(destination)
        return None if found is None or found.expired(now_ms=now_ms) else found

    def destinations(self) -> list[str]:
        """Destinations with a vector, in order."""
        return sorted(self._vectors)

    def expire(self, *, now_ms: float) -> list[str]:
        """Destroy the vectors that nobody refreshed, and name their destinations."""
        gone = [d for d, vector in sorted(self._vectors.items()) if vector.expired(now_ms=now_ms)]
        for destination in gone:
            del self._vectors[destination]
        return gone

    def meet(self, neighbour: str) -> None:
        """A host became a neighbour."""
        self.neighbours.add(neighbour)
        for destination in sorted(self._vectors):
            self._vectors[destination].meet(neighbour)

    def lose(self, neighbour: str) -> None:
        """A neighbour died or is no longer one."""
        self.neighbours.discard(neighbour)
        for destination in sorted(self._vectors):
            self._vectors[destination].lose(neighbour)

    def _fresh(self, destination: str, *, now_ms: float) -> PheromoneVector:
        """A vector that knows nothing yet of the way to this destination; a live cell's tells where it goes."""
        return PheromoneVector(self.neighbours, self._params, now_ms=now_ms)
