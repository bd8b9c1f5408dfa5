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
from services.lab.moves.stream import BEFORE_S, PROGRAMS, Gap, Stream, started, stream
from services.registry.asking import ENDS, answers_to, ask, now_ms
from services.registry.changes import withdrawn
from services.registry.snapshot import read_registry
from services.registry.write import write
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import Decision, FlowRevision

OURS, PLAIN_FAUST, GROUP_LOOP = "stigmergy", "plain Faust", "consumer group, cooperative-sticky"
STREAMS = "Kafka Streams with a standby"
WARM_S = 20.0
"""A JVM that starts again follows all state before it is the next owner."""
JOIN_TIMEOUT_S = 180.0
PLACED_TIMEOUT_S, MOVE_TIMEOUT_S, STOP_TIMEOUT_S = 120.0, 120.0, 60.0
LOOK_AFTER_S = 2.0
"""To read the registry takes as much processor time as a move: the look must not be seen in what is measured."""
WARM_KEYS_PER_S_MIN = 20_000.0
"""A target reads a large state at least so fast before it is warm."""
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

    Another flow runs there too, and does not move. Both are withdrawn at the end: the next ones have the hosts to
    themselves. A move that does not end well is told and left out.
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
                try:
                    pauses.append(_moved(ground, load, beside, segment, hosts))
                    ground.say(f"{OURS}: move {number + 1} of {moves}: {_told(pauses[-1])}")
                except BenchError as fault:
                    ground.warn(f"{OURS}: move {number + 1} is left out: {fault}")
            for each in (load, beside):
                _withdraw(ground, each.id)
            if not pauses:
                raise BenchError("no move ended well")
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


def _withdraw(ground: Ground, flow: str) -> None:
    """End it; the placement service frees its partitions."""
    entries = withdrawn(read_registry(ground.bootstrap), flow, now_ms=now_ms())
    write(ground.bootstrap, [entry for entry in entries if isinstance(entry[1], FlowRevision)])
    wait_until(
        lambda: (
            not any(
                each.flow == flow and each.host is not None
                for each in read_registry(ground.bootstrap).placements.values()
            )
        ),
        timeout_s=PLACED_TIMEOUT_S,
        what=f"the end of {flow}",
        poll_s=0.5,
    )


def _moved(ground: Ground, load: Stream, beside: Stream, segment: str, hosts: list[str]) -> Pause:
    """One move. Gaps are looked for until the registry is read: the look is no part of what is measured."""
    owner = read_registry(ground.bootstrap).placements[segment, MOVED].host
    target = next(host for host in hosts if host != owner)
    load.until_caught_up()
    calm_s = time.monotonic()
    time.sleep(BEFORE_S + LOOK_AFTER_S)
    since_s = time.monotonic()
    request = ask(ground.bootstrap, "move", load.id, segment=segment, partitions=(MOVED,), host=target)
    until_s = _ended(ground, request, timeout_s=MOVE_TIMEOUT_S + load.keys / WARM_KEYS_PER_S_MIN)
    load.until_resumed(time.monotonic())
    gap = load.arrivals.gap_of(MOVED, since_s - BEFORE_S, until_s=until_s)
    calm = load.arrivals.gap_of(MOVED, calm_s, until_s=since_s - BEFORE_S)
    record = next(
        each for each in read_registry(ground.bootstrap, catalogue.MOVES).moves.values() if each.request == request
    )
    return Pause(
        gap,
        record.predicted_pause_ms,
        record.actual_pause_ms,
        calm,
        beside=beside.arrivals.gap(since_s - BEFORE_S, until_s=until_s),
        beside_calm=beside.arrivals.gap(calm_s, until_s=since_s - BEFORE_S),
    )


def _ended(ground: Ground, request: str, *, timeout_s: float) -> float:
    """Wait until the partition has moved; when the look began that found it so."""
    answers: list[Decision] = []
    looked_s = 0.0

    def has_ended() -> bool:
        nonlocal looked_s
        looked_s = time.monotonic()
        answers[:] = answers_to(ground.bootstrap, request)
        return any(each.kind in ENDS for each in answers)

    time.sleep(LOOK_AFTER_S)
    try:
        wait_until(has_ended, timeout_s=timeout_s, what="a move", poll_s=LOOK_AFTER_S)
    except BenchError as fault:
        raise BenchError(f"{fault}; the placement service told {_words(answers)}") from fault
    if not any(each.kind == "moved" for each in answers):
        raise BenchError(f"the placement service told {_words(answers)}")
    return looked_s


def _words(answers: list[Decision]) -> str:
    return "; ".join(f"{each.kind}: {each.what}, {each.why}" for each in answers) or "nothing"


def _told(pause: Pause) -> str:
    """One move in words: the gap that was seen, what the hosts told of it, and what was predicted."""
    told, predicted = ("nothing" if each is None else f"{each:.0f} ms" for each in (pause.told_ms, pause.predicted_ms))
    return f"a gap of {pause.gap.longest_ms:.0f} ms; hosts told {told}, predicted was {predicted}"


def plain_faust(ground: Ground, *, keys: int, rate_per_s: int, moves: int) -> list[Pause]:
    """One of two members of a consumer group stops, and starts again."""

    def command(load: Stream, number: int) -> list[str]:
        folder = ground.folder / f"{load.id}-{number}"
        folder.mkdir(exist_ok=True)
        program = str(PROGRAMS_OF_DATAPLANE / "plain_faust.py")
        arguments = [ground.bootstrap, COUNT_SUM.name, load.source, load.sink, load.id, str(folder)]
        return [sys.executable, program, *arguments, "worker"]

    return _group(ground, PLAIN_FAUST, command, _until_shared, keys=keys, rate_per_s=rate_per_s, moves=moves)


def group_loop(ground: Ground, *, keys: int, rate_per_s: int, moves: int) -> list[Pause]:
    """One of two members of a bare consumer group stops, and starts again."""

    def command(load: Stream, _number: int) -> list[str]:
        changelog = f"{load.id}-changelog"
        if changelog not in ground.client.list_topics(timeout=10).topics:
            ground.make_topic(changelog, 2)
        program = str(PROGRAMS / "group_loop.py")
        return [sys.executable, program, ground.bootstrap, load.source, load.sink, changelog, load.id]

    return _group(ground, GROUP_LOOP, command, _until_shared, keys=keys, rate_per_s=rate_per_s, moves=moves)


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

    return _group(ground, STREAMS, command, _until_warm, keys=keys, rate_per_s=rate_per_s, moves=moves)


def _group(
    ground: Ground,
    name: str,
    command: Callable[[Stream, int], list[str]],
    until_joined: Callable[[Ground, Stream], None],
    *,
    keys: int,
    rate_per_s: int,
    moves: int,
) -> list[Pause]:
    pauses: list[Pause] = []
    with stream(ground, keys=keys, rate_per_s=rate_per_s) as load, _members(ground, load, command) as members:
        load.until_loaded()
        until_joined(ground, load)
        for number in range(moves):
            ground.say(f"{name}: move {number + 1} of {moves}")
            leaving = number % 2
            since_s = load.pause(lambda leaving=leaving: _end(members[leaving]))  # type: ignore[misc]
            pauses.append(Pause(load.arrivals.gap(since_s)))
            ground.say(f"{name}: move {number + 1} of {moves}: a gap of {pauses[-1].gap.longest_ms:.0f} ms")
            load.until_caught_up()
            members[leaving] = started(ground, command(load, leaving), f"{load.id}-{leaving}.log")
            until_joined(ground, load)  # what its coming costs is another rebalance, not a move
            load.until_caught_up()
    return pauses


def _until_warm(_ground: Ground, _load: Stream) -> None:
    """Nobody tells when a standby of Kafka Streams has all state."""
    time.sleep(WARM_S)


def _until_shared(ground: Ground, load: Stream) -> None:
    """Each of two members of the group owns one of the two partitions."""

    def is_shared() -> bool:
        group = ground.client.describe_consumer_groups([load.id])[load.id].result()
        owned = [
            {each.partition for each in member.assignment.topic_partitions if each.topic == load.source}
            for member in group.members
        ]
        return sorted(map(len, owned)) == [1, 1]

    wait_until(is_shared, timeout_s=JOIN_TIMEOUT_S, what="two members that share the partitions", poll_s=0.5)


@contextmanager
def _members(
    ground: Ground, load: Stream, command: Callable[[Stream, int], list[str]]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two; the second one joins when the first one works. Of two members of plain Faust that came together one was seen
    that never got anything to do."""
    members: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(2):
            members.append(started(ground, command(load, number), f"{load.id}-{number}.log"))
            wait_until(
                lambda: min(load.arrivals.counts()) > 0,
                timeout_s=JOIN_TIMEOUT_S,
                what="results of a member",
                poll_s=0.5,
            )
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
