"""How a leader goes about its work: how many ants, how long to wait, when to move. Two sets: the paper's and ours."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """How many ants one release has, and how many of them must come back before the leader goes on."""

    routing_ants: int
    enough_routing_ants: int
    scouts: int
    enough_reports: int

    def __post_init__(self) -> None:
        if not (1 <= self.enough_routing_ants <= self.routing_ants and 1 <= self.enough_reports <= self.scouts):
            raise ValueError(f"{self}: give at least 1 ant, and ask for no more to return than are sent")


@dataclass(frozen=True, slots=True)
class LeaderParams:
    """Everything that leaders of one system have in common."""

    placing: Release = Release(routing_ants=10, enough_routing_ants=8, scouts=12, enough_reports=10)
    watching: Release = Release(routing_ants=3, enough_routing_ants=2, scouts=2, enough_reports=2)
    outstanding: float = 1.02
    """A report within this factor of the lower bound is taken at once."""
    patience_ms: float = 2_000.0
    """How long to wait for ants whose trip time is not known yet."""
    patience_trips: float = 4.0
    """And for ants whose trip time is known, in trips (plus a tenth of the patience)."""
    learn_patience: bool = True
    """The first routing ant that is back tells how long to wait for the others; else all of the patience is waited."""
    scout_ways_max: float | None = 4.0
    """Scouts stand in no queue, so what routing ants lost there is no reason to wait for them: they get as long as a
    trip of so many times the shortest way. None: as long as routing ants, where busy machines hold up both."""
    max_releases: int = 3
    """Releases of ants for one chain before an attempt fails."""
    max_attempts: int = 8
    """Attempts before the leader gives up for a while. One that was refused met a rival, and the next may not."""
    max_failed_searches: int = 4
    """So many searches from which nobody brought a placement home are enough for that, too."""
    retry_after_ms: float = 10_000.0
    """First pause after giving up, if nobody found room; it doubles each time, up to retry_at_most_ms, and is drawn
    from half to one and a half of that. After the second few ants look. A leader that rivals turned back to the end
    begins with patience_ms. What returns somewhere ends a pause, but not more often than this."""
    retry_at_most_ms: float = 600_000.0
    let_go: bool = True
    """A flow that lost a host, and for which a search found nothing, gives up the room it has left; else it stays."""
    watch_every_ms: float = 5_000.0
    """Shortest time between two rounds of ants for a running flow; the budget may make it longer."""
    watch: bool = True
    """False: a placed flow stays where it is (the paper's comparison without self-optimisation)."""
    cool_down_rounds: int = 3
    """A task does not return to a host it left less than this many times `watch_every_ms` ago: a fixed time, however
    long the budget makes its rounds (decision 272)."""
    gain_ms_min: float = 0.0
    """Less than this is not worth a move, whatever share of the cost it is: delays are not known better."""
    pause_ms: float = 70.0
    """Pause of a moved task, as long as no move has told how long it really is."""
    horizon_ms: float = 60_000.0
    """How long a better placement is assumed to stay better."""
    shun_ms: float = 60_000.0
    """How long a leader keeps away from a host that died, or from which enforcement ants did not return twice."""
    retry_move_ms: float = 60_000.0
    """A task whose move was not carried out is not sent to that host again for so long; it doubles each time, up to
    retry_move_at_most_ms, which is also how long a place is left that a person has chosen (decision 320)."""
    retry_move_at_most_ms: float = 3_600_000.0
    budget_share: float | None = 3e-5
    """Routing ants and scouts of a running flow may take this share of its data's byte-hops; None: no limit."""
    budget_depth_ms: float = 60_000.0
    """A leader may save this much time's worth of budget."""
    retainer_per_ms: float = 0.005
    """Byte-hops that a running flow may spend on ants even if it moves hardly any data."""
    routing_ant_byte_hops: float = 2_000.0
    scout_byte_hops: float = 20_000.0
    """What an ant is thought to cost until the first ones are home: guesses, for a large routed network. Ants leave at
    that price, and too high a guess is a debt that nothing takes back (decision 339)."""
    every_edge_travels: bool = False
    """Data go through a broker also between tasks on one host, so each edge earns; else only edges between hosts do."""
    look_at_drift: float | None = 0.3
    """Rates or service times that have changed by this share since the last look are worth one at once, on credit;
    None: they wait for the next round that the budget pays for."""
    heed_alarms: bool = True
    """Look at once, on credit, when a host of the flow has become crowded; else at the next round."""
    heed_refusals: bool = True
    """Tell the next scouts what an enforcement ant saw where it was turned back (decision 56)."""
    owed_rounds_max: int = 12
    """So many rounds may be owed to the budget after a drift or an alarm, or while the flow does not get through where
    it runs: the first looks of a poor flow do not wait for money (decision 315)."""
    hot_rounds_owed_max: int | None = None
    """So many rounds may be owed when ants leave for a hot spot ahead; None: they leave at each warning. Such a look
    sends as many ants as a first placement, and costs as much as several rounds."""

    def __post_init__(self) -> None:
        for name in ("patience_ms", "patience_trips", "retry_after_ms", "watch_every_ms", "horizon_ms"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give more than 0")
        if not 0 < self.retry_move_ms <= self.retry_move_at_most_ms:
            raise ValueError(f"retry_move_ms is {self.retry_move_ms}; give more than 0, and no more than at most")
        if self.outstanding < 1:
            raise ValueError(f"outstanding is {self.outstanding}; no report is below the lower bound: give 1 or more")
        if min(self.max_releases, self.max_attempts, self.max_failed_searches) < 1:
            raise ValueError("max_releases, max_attempts and max_failed_searches must be at least 1")
        if self.budget_share is not None and not 0 < self.budget_share < 1:
            raise ValueError(f"budget_share is {self.budget_share}; give a share in (0, 1), or None for no limit")
        for name in ("retainer_per_ms", "routing_ant_byte_hops", "scout_byte_hops"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give 0 or more")
        if self.hot_rounds_owed_max is not None and self.hot_rounds_owed_max < 0:
            raise ValueError(f"hot_rounds_owed_max is {self.hot_rounds_owed_max}; give 0 or more, or None for no limit")
        if self.look_at_drift is not None and not 0 < self.look_at_drift < 1:
            raise ValueError(f"look_at_drift is {self.look_at_drift}; give a share in (0, 1), or None to wait")

    def patience_for_ms(self, trip_ms: float) -> float:
        """How long to wait for ants whose trip time is known."""
        return self.patience_trips * trip_ms + self.patience_ms / 10


IMPROVED_LEADER = LeaderParams()

LIVE_LEADER = LeaderParams(
    patience_ms=5_000.0,
    scout_ways_max=None,
    hot_rounds_owed_max=24,
    max_failed_searches=2,
    let_go=False,  # what is left of a flow goes on there: its room is not free
    cool_down_rounds=12,
    gain_ms_min=3.0,
    budget_share=1e-3,
    retainer_per_ms=0.1,
    routing_ant_byte_hops=100.0,  # one or two hops, of some dozens of bytes
    scout_byte_hops=500.0,
    every_edge_travels=True,
)
"""On Kafka: a world of few hosts, where one round of ants is a small thing beside what a full host costs, and delays
are measured on machines that do other things too."""

PAPER_LEADER = LeaderParams(
    placing=Release(routing_ants=100, enough_routing_ants=30, scouts=30, enough_reports=10),
    watching=Release(routing_ants=20, enough_routing_ants=5, scouts=10, enough_reports=5),
    learn_patience=False,
    max_releases=40,
    max_attempts=6,
    cool_down_rounds=0,
    pause_ms=0.0,
    budget_share=None,
    look_at_drift=None,
    heed_alarms=False,
    heed_refusals=False,
)
"""The paper's rules, and ours where it names one without saying how, or could not go on without any (decision 329).

A report is outstanding if servers hardly feel the flow (Ants 3.8, without a number): read as ours, within 2 % of the
lower bound. For how long leaders wait, when they give up and look again, that they keep away from hosts that died
and let go of room: the paper leaves it open, and without a rule a search would never end, or a dead host be chosen
again and again. Both sets then differ in nothing but what the paper decides.
"""
