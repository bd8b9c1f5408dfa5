"""A move among parties that die, freeze and come back at any moment: one owner, and an end.

The world is small: a registry with one partition, three hosts that see it when they look, and a service that can be
away for any time. Hosts behave as `services/host` does: who is no longer the owner drains and says so; who has become
the owner waits for that word if the registry names an origin, then fences and runs.
"""

from dataclasses import dataclass, field, replace

from hypothesis import given, note, settings
from hypothesis import strategies as st

from placement.moves import (
    ENDED,
    Effect,
    Facts,
    FollowAtTarget,
    GiveBack,
    HandOver,
    Move,
    MoveParams,
    Phase,
    Release,
    SkipDrain,
    Told,
    advance,
    begun,
)

HOSTS = ("origin", "target", "third")
PARAMS = MoveParams(
    proposed_ms_max=500,
    warming_ms_max=500,
    draining_ms_max=500,
    fencing_ms_max=500,
    catching_up_ms_max=500,
    releasing_ms_max=500,
    returning_ms_max=500,
)
HOST_PATIENCE_MS = 300
MOVE = Move("m", "f", "s", 0, "origin", "target", 1, Phase.PROPOSED, 0, 0, "test")


@dataclass(frozen=True)
class Entry:
    """The registry's entry of the partition."""

    owner: str
    epoch: int
    waits_for: str | None = None
    standbys: frozenset[str] = frozenset()


@dataclass
class Host:
    name: str
    is_alive: bool = True
    runs_epoch: int | None = None
    stage: str = "idle"
    since_ms: int = 0
    is_warm: bool = False


@dataclass
class World:
    """`fenced`: who fenced last, with which epoch; nobody else can commit."""

    entry: Entry = Entry("origin", 1)
    now_ms: int = 0
    drained: int = 0
    told: Told | None = None
    fenced: tuple[str, int] = ("origin", 1)
    lost: frozenset[str] = frozenset()
    hosts: dict[str, Host] = field(default_factory=lambda: {name: Host(name) for name in HOSTS})
    move: Move = field(default_factory=lambda: MOVE)

    def __post_init__(self) -> None:
        self.hosts["origin"].runs_epoch = 1
        self._tell("origin", 1, "running", None)

    def do(self, action: str) -> None:
        verb, _, name = action.partition(" ")
        match verb:
            case "service":
                self.serve()
            case "look":
                self.host_looks(self.hosts[name])
            case "kill":
                self.hosts[name] = Host(name, is_alive=False)
            case "start":
                if not self.hosts[name].is_alive:
                    self.hosts[name] = Host(name)
            case "detect":
                self.lost = frozenset(host for host in HOSTS if not self.hosts[host].is_alive)
            case "wait":
                self.now_ms += 100

    def serve(self) -> None:
        """What an active placement instance does at each look; all it knows is in the registry and the move."""
        if self.move.phase is Phase.PROPOSED and not {self.move.origin, self.move.target} & self.lost:
            self.move, effects = begun(self.move, predicted_pause_ms=1.0, now_ms=self.now_ms)
            self._write(effects)
        while True:
            before = self.move
            self.move, effects = advance(before, self.facts(), now_ms=self.now_ms, params=PARAMS)
            self._write(effects)
            if self.move == before:
                break
        if self.move.phase in ENDED and self.entry.owner in self.lost and len(self.lost) < len(HOSTS):
            heirs = [*sorted(self.entry.standbys - self.lost), *(host for host in HOSTS if host not in self.lost)]
            self.entry = Entry(heirs[0], self.entry.epoch + 1)

    def facts(self) -> Facts:
        return Facts(
            owner=self.entry.owner,
            epoch=self.entry.epoch,
            told=self.told,
            is_warm=self.hosts["target"].is_warm,
            drained_epoch=self.drained,
            stopped_ms=None,
            lost=self.lost,
        )

    def host_looks(self, host: Host) -> None:
        """One step of one host, by what the registry says now."""
        if not host.is_alive:
            return
        entry = self.entry
        host.is_warm = host.name in entry.standbys and entry.owner != host.name
        if host.runs_epoch is not None and (entry.owner, entry.epoch) != (host.name, host.runs_epoch):
            self.drained, host.runs_epoch, host.stage = max(self.drained, host.runs_epoch), None, "idle"
        elif entry.owner == host.name and host.runs_epoch is None:
            self._take_over(host, entry)

    def _take_over(self, host: Host, entry: Entry) -> None:
        if host.stage == "idle":
            host.stage, host.since_ms = "waiting", self.now_ms
            self._tell(host.name, entry.epoch, "recovering", "waiting")
            return
        is_drained = self.drained >= entry.epoch - 1 or self.now_ms - host.since_ms >= HOST_PATIENCE_MS
        if host.stage == "waiting" and (entry.waits_for is None or is_drained):
            host.stage, self.fenced = "fenced", (host.name, entry.epoch)
            self._tell(host.name, entry.epoch, "recovering", "catching_up")
        elif host.stage == "fenced":
            host.stage, host.runs_epoch = "idle", entry.epoch
            self._tell(host.name, entry.epoch, "running", None)

    def _tell(self, host: str, epoch: int, state: str, step: str | None) -> None:
        if self.told is None or epoch >= self.told.epoch:
            self.told = Told(host, epoch, state, self.now_ms, step)

    def _write(self, effects: tuple[Effect, ...]) -> None:
        target, origin, entry = self.move.target, self.move.origin, self.entry
        for effect in effects:
            match effect:
                case FollowAtTarget(wanted=wanted):
                    entry = replace(entry, standbys=entry.standbys | {target} if wanted else entry.standbys - {target})
                case HandOver():
                    entry = Entry(target, entry.epoch + 1, origin, entry.standbys - {target})
                case SkipDrain() | Release():
                    entry = replace(entry, waits_for=None)
                case GiveBack():
                    entry = Entry(origin, entry.epoch + 1, None, entry.standbys)
        assert entry.epoch >= self.entry.epoch, "an epoch never goes back"
        assert entry.epoch > self.entry.epoch or entry.owner == self.entry.owner, "a new owner needs a new epoch"
        self.entry = entry

    def owners(self) -> list[str]:
        """The hosts that run the partition and that the broker lets commit."""
        running = [(host.name, host.runs_epoch) for host in self.hosts.values() if host.runs_epoch is not None]
        return [name for name, epoch in running if self.fenced == (name, epoch)]


ACTIONS = ["service", "wait", "detect"] + [f"{verb} {host}" for verb in ("look", "kill", "start") for host in HOSTS]
WEIGHTED = ACTIONS + ["service", "look origin", "look target"] * 4


def settle(world: World) -> None:
    """Nothing more happens to anybody, and everybody goes on with what they do."""
    for _ in range(60):
        for action in ("detect", "service", *(f"look {host}" for host in HOSTS), "wait"):
            world.do(action)
            assert len(world.owners()) <= 1


@given(actions=st.lists(st.sampled_from(WEIGHTED), max_size=60))
@settings(max_examples=600)
def test_whatever_happens_the_move_ends_with_exactly_one_owner(actions: list[str]) -> None:
    """Any party dies, freezes or comes back between any two steps."""
    world = World()
    for action in actions:
        world.do(action)
        assert len(world.owners()) <= 1
    if not any(host.is_alive for host in world.hosts.values()):
        world.do("start third")
    settle(world)
    note(f"{world.move} {world.entry} {world.hosts}")
    assert world.move.phase in ENDED
    assert [world.entry.owner] == world.owners()


def test_left_alone_a_move_is_done_in_a_few_looks() -> None:
    """Without faults there is no time-out on the way, and the target runs it from the next epoch on."""
    world = World()
    for _ in range(6):
        for action in ("service", "look target", "look origin"):
            world.do(action)
    assert (Phase.DONE, "target", 2, ["target"]) == (
        world.move.phase,
        world.entry.owner,
        world.entry.epoch,
        world.owners(),
    )
    assert 0 == world.now_ms
