"""Who takes part: each side moves partitions its own way, as often as it is asked, and says how long results paused."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.embedded.errors import StackError
from services.embedded.spawn import send
from services.lab.dataplane.contestants import SIDES as PROGRAMS_OF_DATAPLANE
from services.lab.dataplane.contestants import host_command
from services.lab.dataplane.ground import BenchError, Ground, wait_until
from services.lab.dataplane.jvm import KAFKA_STREAMS, compiled
from services.lab.dataplane.trial import running
from services.lab.dataplane.workloads import COUNT_SUM
from services.lab.moves.stream import PROGRAMS, Gap, Stream, started, stream
from services.registry.asking import answers_to, ask, now_ms
from services.registry.snapshot import read_registry
from services.registry.write import write
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import Decision, FlowRevision

OURS, PLAIN_FAUST, GROUP_LOOP = "stigmergy", "plain Faust", "consumer group, cooperative-sticky"
STREAMS = "Kafka Streams with a standby"
JOIN_S, WARM_S = 1.0, 20.0
"""What a member that starts again gets: it joins in the background; a JVM starts and follows all state before it is the
next owner."""
PLACED_TIMEOUT_S, MOVE_TIMEOUT_S, STOP_TIMEOUT_S = 120.0, 120.0, 60.0
LOOK_AFTER_S = 2.0
"""To read the registry takes as much processor time as a move: the look must not be seen in what is measured."""
MOVED = 0
"""The partition that our side moves; the other one stays."""
BESIDE_KEYS, BESIDE_RATE_PER_S = 1_000, 200
"""State of another flow on the same hosts that stays where it is, and records a second for each of its partitions."""


@dataclass(frozen=True, slots=True)
class Pause:
    """One move: the gap in the results, and for our side what was predicted and what the hosts told."""

    gap: Gap
    predicted_ms: float | None = None
    told_ms: float | None = None
    calm: Gap | None = None
    """The gaps in as long a time right before it."""
    beside: Gap | None = None
    """Those of another flow meanwhile."""
    beside_calm: Gap | None = None


def ours(ground: Ground, *, keys: int, rate_per_s: int, moves: int) -> list[Pause]:
    """A partition goes to and fro between two hosts, by `stigmergy move`, through the placement service.

    Another flow runs there too, and does not move.
    """
    with (
        stream(ground, keys=keys, rate_per_s=rate_per_s) as load,
        stream(ground, keys=BESIDE_KEYS, rate_per_s=BESIDE_RATE_PER_S) as beside,
    ):
        hosts = [f"{load.id}-{number}" for number in range(2)]
        commands = [host_command(ground, host) for host in hosts]
        placement = [sys.executable, "-m", "services.placement", "--bootstrap", ground.bootstrap]
        commands += [[*placement, "--name", f"{load.id}-p{number}", "--log-level", "warning"] for number in range(2)]
        with running(commands, ground.folder / f"{load.id}.log"):
            segment, _ = _submitted(ground, load), _submitted(ground, beside)
            load.until_loaded()
            beside.until_loaded()
            pauses = []
            for number in range(moves):
                ground.say(f"{OURS}: move {number + 1} of {moves}")
                pauses.append(_moved(ground, load, beside, segment, hosts))
            return pauses


def _submitted(ground: Ground, load: Stream) -> str:
    """The flow, placed by its leader. Its own moves are frozen: only ours are to be seen."""
    text = COUNT_SUM.flow(load.id, source=load.source, sink=load.sink).replace("delivery:", "moves: freeze\ndelivery:")
    graph = parse_graph(text)
    flow = FlowRevision(
        flow=load.id, revision=1, state="submitted", text=text, delivery=graph.spec.delivery, changed_ms=now_ms()
    )
    write(ground.bootstrap, [(catalogue.FLOWS, flow)])
    segment = graph.segments[0].id
    wait_until(
        lambda: (segment, MOVED) in read_registry(ground.bootstrap).placements,
        timeout_s=PLACED_TIMEOUT_S,
        what="a plan for the flow",
        poll_s=0.2,
    )
    return segment


def _moved(ground: Ground, load: Stream, beside: Stream, segment: str, hosts: list[str]) -> Pause:
    owner = read_registry(ground.bootstrap).placements[segment, MOVED].host
    target = next(host for host in hosts if host != owner)
    request = ""
    load.until_caught_up()
    calm_s = time.monotonic()
    time.sleep(LOOK_AFTER_S)

    def move() -> None:
        nonlocal request
        request = ask(ground.bootstrap, "move", load.id, segment=segment, partitions=(MOVED,), host=target)
        time.sleep(LOOK_AFTER_S)
        answers: list[Decision] = []

        def is_moved() -> bool:
            answers[:] = answers_to(ground.bootstrap, request)
            return any(each.kind == "moved" for each in answers)

        try:
            wait_until(is_moved, timeout_s=MOVE_TIMEOUT_S, what="a move", poll_s=LOOK_AFTER_S)
        except BenchError as fault:
            told = "; ".join(f"{each.kind}: {each.what}, {each.why}" for each in answers) or "nothing"
            raise BenchError(f"{fault}; the placement service told {told}") from fault

    since_s = load.pause(move)
    gap, calm = load.arrivals.gap_of(MOVED, since_s), load.arrivals.gap_of(MOVED, calm_s, until_s=since_s)
    record = next(
        each for each in read_registry(ground.bootstrap, catalogue.MOVES).moves.values() if each.request == request
    )
    meanwhile, before = beside.arrivals.gap(since_s), beside.arrivals.gap(calm_s, until_s=since_s)
    return Pause(gap, record.predicted_pause_ms, record.actual_pause_ms, calm, meanwhile, before)


def plain_faust(ground: Ground, *, keys: int, rate_per_s: int, moves: int) -> list[Pause]:
    """One of two members of a consumer group stops, and starts again."""

    def command(load: Stream, number: int) -> list[str]:
        folder = ground.folder / f"{load.id}-{number}"
        folder.mkdir(exist_ok=True)
        program = str(PROGRAMS_OF_DATAPLANE / "plain_faust.py")
        arguments = [ground.bootstrap, COUNT_SUM.name, load.source, load.sink, load.id, str(folder)]
        return [sys.executable, program, *arguments, "worker"]

    return _group(ground, PLAIN_FAUST, command, keys=keys, rate_per_s=rate_per_s, moves=moves)


def group_loop(ground: Ground, *, keys: int, rate_per_s: int, moves: int) -> list[Pause]:
    """One of two members of a bare consumer group stops, and starts again."""

    def command(load: Stream, _number: int) -> list[str]:
        changelog = f"{load.id}-changelog"
        if changelog not in ground.client.list_topics(timeout=10).topics:
            ground.make_topic(changelog, 2)
        program = str(PROGRAMS / "group_loop.py")
        return [sys.executable, program, ground.bootstrap, load.source, load.sink, changelog, load.id]

    return _group(ground, GROUP_LOOP, command, keys=keys, rate_per_s=rate_per_s, moves=moves)


def kafka_streams(ground: Ground, *, keys: int, rate_per_s: int, moves: int) -> list[Pause]:
    """The member that owns all stops, and the other one, which has followed its state, goes on. Needs a JDK."""
    try:
        program = compiled(ground, KAFKA_STREAMS)
    except StackError as fault:
        raise BenchError(str(fault)) from fault

    def command(load: Stream, number: int) -> list[str]:
        folder = ground.folder / f"{load.id}-{number}"
        folder.mkdir(exist_ok=True)
        return [*program, ground.bootstrap, COUNT_SUM.name, load.source, load.sink, load.id, str(folder), "standby"]

    return _group(ground, STREAMS, command, rest_s=WARM_S, keys=keys, rate_per_s=rate_per_s, moves=moves)


def _group(
    ground: Ground,
    name: str,
    command: Callable[[Stream, int], list[str]],
    *,
    rest_s: float = JOIN_S,
    keys: int,
    rate_per_s: int,
    moves: int,
) -> list[Pause]:
    pauses: list[Pause] = []
    with stream(ground, keys=keys, rate_per_s=rate_per_s) as load, _members(ground, load, command) as members:
        load.until_loaded()
        for number in range(moves):
            ground.say(f"{name}: move {number + 1} of {moves}")
            leaving = number % 2
            since_s = load.pause(lambda leaving=leaving: _end(members[leaving]))  # type: ignore[misc]
            pauses.append(Pause(load.arrivals.gap(since_s)))
            load.until_caught_up()
            members[leaving] = started(ground, command(load, leaving), f"{load.id}-{leaving}.log")
            time.sleep(rest_s)  # what its coming costs is another rebalance, not a move
            load.until_caught_up()
    return pauses


@contextmanager
def _members(
    ground: Ground, load: Stream, command: Callable[[Stream, int], list[str]]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    members = [started(ground, command(load, number), f"{load.id}-{number}.log") for number in range(2)]
    try:
        yield members
    finally:
        for member in members:
            _end(member)


def _end(member: subprocess.Popen[bytes]) -> None:
    send(member, signal.SIGTERM)
    try:
        member.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        send(member, signal.SIGKILL)
        member.wait()
        raise BenchError(f"a member did not end in {STOP_TIMEOUT_S:.0f} s") from None
