"""What hurts, and how it heals. Each kind of fault is a pair of functions, for its instant and for when it is over.

Whatever the first breaks, the second mends; a run ends with all hosts, the broker and Redis alive and awake.
"""

import random
import signal
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from services.registry.changes import assigned
from services.registry.snapshot import read_registry
from services.registry.write import write
from tests.chaos.ground import Ground, until
from tests.chaos.scenario import CLOCK_JUMPS_S, Fault
from topics import catalogue

GULP_S = 0.25


@dataclass
class Arena:
    """Where faults happen: the ground, the flow that runs on it, and its hosts."""

    ground: Ground
    flow: str
    hosts: Collection[str]

    def move(self, away_from: str, choice: int, *, all_of_them: bool) -> None:
        """Gives partitions of a host to others, as an operator or the placement service would."""
        rng = random.Random(choice)

        def moved() -> bool:
            view = read_registry(self.ground.bootstrap)
            slots = [slot for slot, each in sorted(view.placements.items()) if self._is_on(each, away_from)]
            others = sorted(set(self.hosts) - {away_from})
            chosen = slots if all_of_them else rng.sample(slots, k=(len(slots) + 1) // 2)
            now_ms = time.time_ns() // 1_000_000
            write(
                self.ground.bootstrap,
                [(catalogue.PLACEMENTS, assigned(view, slot, rng.choice(others), now_ms=now_ms)) for slot in chosen],
            )
            return True

        until(moved, f"partitions move away from {away_from}")

    def _is_on(self, placement: object, host: str) -> bool:
        return (placement.flow, placement.host) == (self.flow, host)  # type: ignore[attr-defined]


Act = Callable[[Arena, Fault], None]


def _nothing(_arena: Arena, _fault: Fault) -> None:
    """The supervisor mends it, or there is nothing to mend."""


def _kill(arena: Arena, fault: Fault) -> None:
    arena.ground.kill(fault.target)


def _kill_and_move(arena: Arena, fault: Fault) -> None:
    arena.ground.kill(fault.target)
    arena.move(fault.target, fault.choice, all_of_them=True)


def _start(arena: Arena, fault: Fault) -> None:
    arena.ground.start(fault.target)


def _stop(arena: Arena, fault: Fault) -> None:
    arena.ground.send(fault.target, signal.SIGTERM)


def _start_after_stop(arena: Arena, fault: Fault) -> None:
    until(lambda: not arena.ground.is_running(fault.target), f"host {fault.target} has stopped")
    arena.ground.start(fault.target)


def _freeze(arena: Arena, fault: Fault) -> None:
    arena.ground.freeze(fault.target)


def _freeze_and_move(arena: Arena, fault: Fault) -> None:
    arena.ground.freeze(fault.target)
    arena.move(fault.target, fault.choice, all_of_them=True)


def _thaw(arena: Arena, fault: Fault) -> None:
    arena.ground.thaw(fault.target)


def _move(arena: Arena, fault: Fault) -> None:
    arena.move(fault.target, fault.choice, all_of_them=False)


def _kill_service(arena: Arena, fault: Fault) -> None:
    arena.ground.send_service(fault.target, signal.SIGKILL)


def _silence_service(arena: Arena, fault: Fault) -> None:
    arena.ground.send_service(fault.target, signal.SIGSTOP)


def _slow_sink(arena: Arena, fault: Fault) -> None:
    """The broker is frozen and thawed in turn; in a thread of its own, so that other faults can happen meanwhile."""

    def gulps() -> None:
        begun_s = time.monotonic()
        while time.monotonic() < begun_s + fault.lasts_s:
            for number in (signal.SIGSTOP, signal.SIGCONT):
                arena.ground.send_service(fault.target, number)
                time.sleep(GULP_S)

    threading.Thread(target=gulps, name="slow sink").start()


def _slow_operator(arena: Arena, _fault: Fault) -> None:
    arena.ground.gate.touch()


def _quick_operator(arena: Arena, _fault: Fault) -> None:
    arena.ground.gate.unlink(missing_ok=True)


def _disk_full(arena: Arena, fault: Fault) -> None:
    arena.ground.fill_disk(fault.target, full=True)


def _disk_free(arena: Arena, fault: Fault) -> None:
    """A host that had only just been started ends on a full disk; whoever runs it starts it again."""
    arena.ground.fill_disk(fault.target, full=False)
    arena.ground.start(fault.target)


def _clock_jump(arena: Arena, fault: Fault) -> None:
    arena.ground.set_clock(fault.target, random.Random(fault.choice).choice(CLOCK_JUMPS_S))


def _clock_back(arena: Arena, fault: Fault) -> None:
    arena.ground.set_clock(fault.target, 0)


FAULTS: dict[str, tuple[Act, Act]] = {
    "kill": (_kill, _start),
    "kill and move": (_kill_and_move, _start),
    "stop": (_stop, _start_after_stop),
    "freeze": (_freeze, _thaw),
    "long freeze": (_freeze, _thaw),
    "freeze and move": (_freeze_and_move, _thaw),
    "move": (_move, _nothing),
    "broker kill": (_kill_service, _nothing),
    "redis gone": (_silence_service, _kill_service),  # first it does not answer, then it is dead, then it is back
    "slow sink": (_slow_sink, _nothing),
    "slow operator": (_slow_operator, _quick_operator),
    "disk full": (_disk_full, _disk_free),
    "clock jump": (_clock_jump, _clock_back),
    "poison": (_nothing, _nothing),  # the feed holds it
}


def timeline(faults: Collection[Fault]) -> list[tuple[float, Fault, Act]]:
    """Begin and end of all faults in the order of time."""
    acts = [(fault.at_s + fault.lasts_s * i, fault, FAULTS[fault.kind][i]) for fault in faults for i in (0, 1)]
    return sorted(acts, key=lambda act: act[0])
