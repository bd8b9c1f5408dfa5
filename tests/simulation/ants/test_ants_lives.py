"""Random lives of small systems, checked all along; and bugs planted to see that the checks bite."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from placement.ants.trail import Trail
from placement.cell_ledger import Booking, Ledger, State
from placement.leader import Leader
from placement.leader_attempt import Attempt
from placement.leader_course import Course
from placement.leader_damping import Damping
from placement.pheromone import PheromoneVector
from placement.queueing import Load
from placement.simulator import faults
from placement.simulator.body import Body
from placement.simulator.invariants import BrokenInvariantError
from placement.simulator.queries import QueryParams, background_load
from placement.simulator.scenario import Outcome, Scenario, live
from placement.simulator.scenarios import CROWDED, FAULTY, RESTLESS, scenario_of
from placement.topology.transit_stub import TransitStubParams, transit_stub
from services.cli import simulate
from services.lab import evidence
from services.lab.chance import seeded
from services.lab.lives import Life
from services.lab.results import read
from services.lab.tracing import trace_file


@pytest.mark.parametrize("seed", range(1, 7))
def test_no_invariant_breaks_in_a_random_life(seed: int) -> None:
    """Hosts and links die and return, flows come, move and go: nothing is overbooked, forgotten or left behind."""
    scenario = scenario_of("short", seed)
    print(scenario.command)
    outcome = live(scenario, seeded(seed))
    assert outcome.unplaced == 0
    assert outcome.placed > 0


@pytest.mark.parametrize("seed", range(1, 7))
def test_no_invariant_breaks_when_whole_failure_classes_die(seed: int) -> None:
    """A power cut takes a rack, with leaders and what they lead: all runs again when it is back."""
    assert 0 == live(scenario_of("outages", seed), seeded(seed)).unplaced


def test_hosts_of_a_failure_class_die_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what the class of a host says."""
    bodies, died = list[Body](), dict[float, set[str]]()

    def lose(body: Body, host: str) -> None:
        died.setdefault(body.kernel.now_ms, set()).add(host)
        faults.lose_host(body, host)

    monkeypatch.setattr("placement.simulator.scenario.lose_host", lose)
    live(replace(scenario_of("outages", 1), class_faults=1), seeded(1), plant=bodies.append)
    [together] = died.values()
    class_of = {host.name: host.failure_class for host in bodies[0].network.hosts}
    assert {host for host in class_of if class_of[host] == class_of[min(together)]} == together
    assert len(together) > 1


def test_what_a_returned_host_tells_is_not_taken_for_old_news() -> None:
    """It counts on from where the cell before it was; else its neighbours believe for ever what ran there before."""
    network = transit_stub(TransitStubParams(transit_domains=1, transit_hosts=2, stubs=1, stub_hosts=2), rng=Random(1))
    body = Body(network, chance=seeded(1))
    body.acquaint()
    host = network.hosts[0].name
    for load in (0.2, 0.4, 0.6):
        body.set_background(host, background_load(load, 1.0, QueryParams(), rng=Random(2)))
        body.run_for(1_000.0)
    faults.lose_host(body, host)
    body.run_for(5_000.0)
    faults.return_host(body, host)
    body.run_for(5_000.0)
    body.set_background(host, Load())
    body.run_for(5_000.0)
    others = [cell for name, cell in body.cells.items() if name != host]
    assert {0.0} == {view.load.rho for cell in others for view, _ in cell.near() if view.host == host}


def _ignore_reservations(patch: pytest.MonkeyPatch) -> None:
    original = Ledger._sum

    def active_only(self: Ledger, without_flow: str) -> Load:
        everything, self._bookings = (
            self._bookings,
            {key: booking for key, booking in self._bookings.items() if booking.state is State.ACTIVE},
        )
        total = original(self, without_flow)
        self._bookings = everything
        return total

    patch.setattr(Ledger, "_sum", active_only)


def _commit_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "commit", lambda self, flow, epoch, expires_ms: True)


def _never_expire(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "expire", lambda self, now_ms: False)
    patch.setattr(Ledger, "cancel", lambda self, flow, epoch: False)
    original = Ledger.reserve

    def lasting(self: Ledger, booking: Booking) -> str | None:
        return original(self, replace(booking, expires_ms=1e12))

    patch.setattr(Ledger, "reserve", lasting)


def _forget_epochs(patch: pytest.MonkeyPatch) -> None:
    original = Course._enforce

    def same_epoch(self: Course, attempt: Attempt, *, now_ms: float) -> list[Any]:
        effects = original(self, attempt, now_ms=now_ms)
        if self.epoch > 1:
            self.epoch -= 1
        return effects

    patch.setattr(Course, "_enforce", same_epoch)


def _forget_release(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "release", lambda self, flow, epoch: False)


def _lose_activation(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "activate", lambda self, flow, epoch: True)


def _keep_cycles(patch: pytest.MonkeyPatch) -> None:
    def leave(self: Trail, next_host: str, *, wait_ms: float, link_ms: float) -> Trail:
        elapsed_ms, distance_ms = self.elapsed_ms[-1] + wait_ms + link_ms, self.distance_ms[-1] + link_ms
        hosts, elapsed = (*self.hosts, next_host), (*self.elapsed_ms, elapsed_ms)
        return Trail(hosts, elapsed, (*self.distance_ms, distance_ms), self.age_ms + link_ms, self.hops + 1)

    patch.setattr(Trail, "leave", leave)


def _drift(patch: pytest.MonkeyPatch) -> None:
    original = PheromoneVector.reinforce

    def unnormalised(self: PheromoneVector, next_hop: str, trip_ms: float, *, now_ms: float) -> bool:
        good = original(self, next_hop, trip_ms, now_ms=now_ms)
        self.probabilities = [p * 1.01 for p in self.probabilities]
        return good

    patch.setattr(PheromoneVector, "reinforce", unnormalised)


def _ignore_losses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(faults, "_notice_host_loss", lambda body, host, died_ms: faults._notice_links(body))


def _ignore_damping(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Damping, "cooling", lambda self, **_: ())
    patch.setattr(Damping, "_too_soon", lambda self, comparison, now_ms: None)


BUGS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Scenario, str]] = {
    "reservations that do not count": (_ignore_reservations, CROWDED, r"is promised to"),
    "a commit that commits nothing": (_commit_nothing, FAULTY, r"has not committed"),
    "reservations that never end": (_never_expire, CROWDED, r"still holds|has ended here"),
    "an epoch used twice": (_forget_epochs, FAULTY, r"is published after|has ended"),
    "a ledger that forgets to release": (_forget_release, FAULTY, r"has ended"),
    "an activation that does nothing": (_lose_activation, FAULTY, r"no booking|still holds"),
    "cycles left in trails": (_keep_cycles, FAULTY, r"has a cycle"),
    "pheromone that is not normalised": (_drift, FAULTY, r"sums to"),
    "leaders that never hear of a dead host": (_ignore_losses, FAULTY, r"does not run|no booking"),
    "a cool-down that nobody keeps": (_ignore_damping, RESTLESS, r"is back at"),
}


def _lives(scenario: Scenario) -> None:
    for seed in range(1, 9):
        live(scenario_of(scenario.name, seed), seeded(seed))


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught_and_the_replay_command_is_told(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that never fail prove nothing: each bug is found within a few lives, with the recipe to see it again."""
    plant, scenario, complaint = BUGS[bug]
    plant(monkeypatch)
    with pytest.raises(BrokenInvariantError, match=complaint) as caught:
        _lives(scenario)
    assert f"stigmergy simulate life --scenario {scenario.name} --first-seed" in str(caught.value)


def test_what_is_wrong_for_a_moment_after_a_decision_is_caught() -> None:
    """The whole system is checked after every decision; twenty looks in a life miss what lasts 5 ms."""

    def enter_late(body: Body) -> None:
        enter = body._enter

        def late(leader: Leader) -> None:
            if leader.flow.name in body.truth.running:
                body.kernel.after(5.0, enter, leader)  # it has moved, and data go on as before
            else:
                enter(leader)

        body._enter = late  # type: ignore[method-assign]

    with pytest.raises(BrokenInvariantError, match="its leader believes"):
        live(scenario_of("restless", 1), seeded(1), plant=enter_late)


def test_lives_are_kept_as_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN section 11; the page of evidence holds them against their targets, and a broken life is a violation."""
    ended = Outcome(placed=3, unplaced=1, moves=2, lost_messages=7, control_hops=100, events=1_000)
    broken = {2: Life(2, None, "f1 was withdrawn and still runs")}
    monkeypatch.setattr("services.lab.lives.live_once", lambda seed, *_: broken.get(seed, Life(seed, ended)))
    file = tmp_path / "simulate-life.json"
    done = CliRunner().invoke(simulate.app, ["life", "--seeds", "3", "--json", str(file)])
    assert 1 == done.exit_code, "told also by the command, after the file is written"
    found = read(file)
    assert ([1, 2, 3], "stigmergy simulate life --scenario usual --seeds 3 --first-seed 1") == (
        found.seeds,
        found.command,
    )
    sums = {row.measure: row.value for row in found.rows}
    assert (1.0, 3.0, 12.0, 6.0, 2_000.0) == (
        sums["violations"],
        sums["lives"],
        sums["faults of hosts and links"],
        sums["flows that run in the end"],
        sums["events"],
    )
    page = evidence.page(tmp_path)
    assert "**missed**: violations: at most 0; it is 1" in page
    assert "**missed**: lives: at least 500; it is 3" in page


def test_the_replay_command_shows_the_same_run(tmp_path: Path) -> None:
    """A recipe that cooks something else is worse than none: event by event the same, with the scenario's own hosts."""
    scenario = scenario_of("crowded", 3)
    mine, replayed = tmp_path / "mine.jsonl", tmp_path / "replayed.jsonl"
    with trace_file(mine) as observer:
        live(scenario, seeded(3), observer=observer)
    words = scenario.command.removeprefix("stigmergy simulate ").split()
    assert CliRunner().invoke(simulate.app, [*words, "--trace", str(replayed)]).exit_code == 0
    assert mine.read_bytes() == replayed.read_bytes()
    assert len(mine.read_bytes()) > 100_000


def test_flows_under_restless_cross_traffic_keep_the_cool_down() -> None:
    """The same restless lives without a bug: flows move, and none of them straight back."""
    moves = [live(scenario_of("restless", seed), seeded(seed)).moves for seed in (1, 2)]
    assert min(moves) > 3


@pytest.mark.parametrize(("seed", "is_full"), [(3, False), (2, True), (6, True)])
def test_leaders_that_compete_for_few_hosts_never_overbook_them(seed: int, is_full: bool) -> None:
    """The same crowded lives without a bug: most flows find room, refused or not, and in some lives a few find none."""
    outcome = live(scenario_of("crowded", seed), seeded(seed))
    assert outcome.placed > 6
    assert is_full == (outcome.unplaced > 0)
    assert outcome.moves > outcome.placed, "most plans were refused at first; else nobody competes"
