"""What `make up` shows by itself: ants place a flow at the edge, more packets come than that can bear, it moves to the
core, its latency falls, and no result is lost or told twice on the way."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from services.cli.top import measure
from services.demo.furnish import FLOW, FLOW_FILE
from services.embedded.furniture import DEMO_SOURCE
from services.embedded.home import Home
from services.embedded.record import read_record
from services.registry.snapshot import read_registry
from tests.chaos.observed import Observer
from tests.chaos.oracle import Result, result, whole_flow
from tests.waiting import until
from topics import catalogue
from topics.flow.file import parse_graph
from topics.messages import MoveRecord

STIGMERGY = str(Path(sys.executable).with_name("stigmergy"))
START_S_MAX = 240.0
STORY_S_MAX = 240.0
"""It takes one to two minutes; a busy machine may take longer."""

look_until = partial(until, patience_s=STORY_S_MAX, poll_s=0.5)


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stack as `make up` starts it, with the demo."""
    home = tmp_path_factory.mktemp("story") / "home"
    environment = {**os.environ, "STIGMERGY_HOME": str(home)}

    def stigmergy(*arguments: str) -> None:
        subprocess.run([STIGMERGY, *arguments], env=environment, check=True, timeout=START_S_MAX)

    stigmergy("up", "--demo", "--detach")
    try:
        record = read_record(Home(home).record)
        assert record is not None
        yield record.bootstrap
    finally:
        stigmergy("down")


def test_a_flow_that_outgrows_the_edge_moves_to_the_core_and_loses_nothing(bootstrap: str) -> None:
    """The promise of the product in two minutes; each half of it fails if ants, models, moves or hosts do not play."""
    slowest_ms = 0.0

    def moved_to_the_core() -> list[MoveRecord]:
        nonlocal slowest_ms
        slowest_ms = max(slowest_ms, latency_ms(bootstrap) or 0.0)
        moves = read_registry(bootstrap, catalogue.MOVES).moves.values()
        return [each for each in moves if each.phase == "done" and each.target.startswith("core")]

    first = look_until(lambda: hosts(bootstrap), "the flow is placed")
    assert {"edge-1"} == first, "packets come from the edge, and there are few"
    done = look_until(moved_to_the_core, "it has moved to the core")
    assert {"edge-1"} == {each.origin for each in done}
    look_until(lambda: (calm := latency_ms(bootstrap)) is not None and calm < slowest_ms / 2, "latency falls")
    owed = results_due(bootstrap)
    assert owed, "windows have closed"
    look_until(lambda: owed <= told(bootstrap), "every window that has closed is told")
    closed = {window_end(each) for each in owed}
    assert owed == Counter({each: n for each, n in told(bootstrap).items() if window_end(each) in closed}), "and once"


def hosts(bootstrap: str) -> set[str]:
    """Where the flow runs."""
    placed = read_registry(bootstrap).placements.values()
    return {each.host for each in placed if each.flow == FLOW and each.host is not None}


def latency_ms(bootstrap: str) -> float | None:
    """The median latency of the last seconds, at the operator that is worst off."""
    lines, _ = measure(bootstrap, flow=FLOW)
    return max((line.latency_ms_p50 for line in lines if line.latency_ms_p50 is not None), default=None)


def results_due(bootstrap: str) -> Counter[Result]:
    """What the operators make, without any host, of all packets so far."""
    graph = parse_graph(FLOW_FILE.read_text())
    rows = Observer(bootstrap).rows(DEMO_SOURCE.name)
    (results,) = whole_flow(graph, {DEMO_SOURCE.name: rows}).results.values()
    return results


def told(bootstrap: str) -> Counter[Result]:
    """What the flow has written, as a reader of committed records sees it."""
    (sink,) = parse_graph(FLOW_FILE.read_text()).spec.sinks
    return Counter(result(row.key, row.value) for row in Observer(bootstrap).rows(sink.topic))


def window_end(told: Result) -> int:
    """When the window ended that a result is of."""
    return int(msgspec.json.decode(told[1])["window_end"])
