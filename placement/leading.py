"""Which broker should lead a partition of an edge: the one by which records get soonest from writers to reader.

A partition is written from the hosts of the segment before it and read at the host of the one behind it. Moving a
leader costs a short pause, so it must gain enough; what gains nothing stays (DESIGN section 10).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from placement.hop import HopParams, RoundTrip, hop_ms


@dataclass(frozen=True, slots=True)
class LeadingParams:
    """When a better leader is worth the pause of getting it."""

    gain_ms_min: float = 3.0
    gain_share_min: float = 0.1
    hop: HopParams = field(default_factory=HopParams)

    def __post_init__(self) -> None:
        if self.gain_ms_min < 0 or not 0 <= self.gain_share_min < 1:
            raise ValueError(f"{self}: give a gain of 0 ms or more, and a share from 0 to below 1")


@dataclass(frozen=True, slots=True)
class LedPartition:
    """One partition of an edge topic: its replicas (the preferred leader first), who leads it, and whom it serves.

    `writers`: the regions that write to it, each with its share of the records; `reader`: where it is read.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    leader: int
    writers: tuple[tuple[str, float], ...]
    reader: str
    batches_per_ms: float = 0.01


@dataclass(frozen=True, slots=True)
class LeaderMove:
    """A partition gets another leader: these replicas, the leader first."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    now_ms: float
    then_ms: float

    @property
    def needs_election(self) -> bool:
        """A new preferred leader does not lead before it is elected; without followers it is the only one."""
        return len(self.after) > 1


def delay_ms(at: LedPartition, leader: int, regions: Mapping[int, str], trip: RoundTrip, params: HopParams) -> float:
    """Mean delay over the writers if this broker leads, with the followers that the partition has now."""
    region = regions[leader]
    followers = [trip(region, regions[each]) for each in at.replicas if each not in (leader, at.leader)]
    # A broker that holds no replica takes the place of the present leader, which is then no follower.
    if leader in at.replicas and leader != at.leader:
        followers.append(trip(region, regions[at.leader]))
    return sum(
        share
        * hop_ms(
            trip(writer, region),
            trip(region, at.reader),
            params,
            batches_per_ms=at.batches_per_ms,
            slowest_follower_ms=max(followers, default=0.0),
        )
        for writer, share in at.writers
    )


def plan_leaders(
    partitions: Iterable[LedPartition], regions: Mapping[int, str], trip: RoundTrip, params: LeadingParams
) -> list[LeaderMove]:
    """The moves that are worth it, largest gain first. `regions`: of the live brokers."""
    moves = []
    for at in partitions:
        if at.leader not in regions or not at.writers:
            continue  # Kafka elects another leader first; or nobody writes
        now_ms = delay_ms(at, at.leader, regions, trip, params.hop)
        delays = {leader: delay_ms(at, leader, regions, trip, params.hop) for leader in sorted(regions)}
        best = min(delays, key=lambda leader: (delays[leader], leader != at.leader, leader))
        gain_ms = now_ms - delays[best]
        if best != at.leader and gain_ms >= max(params.gain_ms_min, params.gain_share_min * now_ms):
            after = _replicas(at, best)
            moves.append(LeaderMove(at.topic, at.partition, at.replicas, after, now_ms, delays[best]))
    return sorted(moves, key=lambda move: (move.then_ms - move.now_ms, move.topic, move.partition))


def _replicas(at: LedPartition, leader: int) -> tuple[int, ...]:
    """As many replicas as before, the new leader first; if it had none, it gets that of the leader it follows."""
    others: Sequence[int] = [each for each in at.replicas if each != leader]
    if leader not in at.replicas:
        others = [each for each in others if each != at.leader]
    return (leader, *others)
