"""State on disk: the same results after a kill, and a disk that fills up and is emptied again."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from services.registry.changes import assigned
from services.registry.snapshot import read_registry
from topics import catalogue

COUNTS = """
flow: {flow}
state: disk
delivery: exactly_once
sources:
  visits: {topic: {source}, key: user}
operators:
  totals: {op: aggregate, input: visits, by: [user], emit: {n: count(), names: max(name), size: sum(size)}}
sinks:
  out: {input: totals, topic: {sink}, key: user}
"""

USERS = 12_000


def visits(users: range) -> list[dict]:
    return [{"user": f"user-{n:08}-{'x' * 40}", "name": f"{n:08}" * 300, "size": n} for n in users]


def test_state_on_disk_survives_a_kill(hosts: Any, stage: Callable, tmp_path: Path) -> None:
    """What is on disk is thrown away with the host that had it; the changelog decides."""
    flow = stage(COUNTS, partitions=1, sink_partitions=1)
    extra = ["--state-folder", str(tmp_path / "state")]
    hosts.start("a", extra=extra)
    flow.submit(hosts, "a")
    flow.feed(visits(range(USERS)))
    flow.until(lambda: flow.committed() >= USERS, "all users are counted")
    left = list((tmp_path / "state").glob("stig-host-*/*/0/CURRENT"))
    assert 1 == len(left), "it is on disk"
    hosts.end("a", 9)
    hosts.start("a", extra=extra)
    flow.until(lambda: not left[0].exists(), "what the killed one left is removed")
    again = [0, 77, 9_999, USERS - 1]
    flow.feed([visit for n in again for visit in visits(range(n, n + 1))])
    flow.until(lambda: flow.committed() >= USERS + len(again), "they are counted again")
    last = {each["user"]: each for each in flow.results()[-len(again) :]}
    assert {visits(range(n, n + 1))[0]["user"]: (2, 2 * n) for n in again} == {
        user: (each["n"], each["size"]) for user, each in last.items()
    }


def test_a_full_disk_parks_and_goes_on_when_there_is_room_again(hosts: Any, stage: Callable, tmp_path: Path) -> None:
    """A file size limit stands for the full disk: to RocksDB both are a write that fails."""
    flow = stage(COUNTS, partitions=1, sink_partitions=1)
    hosts.start("a", extra=["--state-folder", str(tmp_path / "state")])
    flow.submit(hosts, "a")
    host = psutil.Process(hosts.running["a"].pid)
    _, most = host.rlimit(resource.RLIMIT_FSIZE)
    host.rlimit(resource.RLIMIT_FSIZE, (200_000, most))
    count = 12_000
    flow.feed(visits(range(count)))

    def parks_as_more_comes() -> bool:
        """What RocksDB could not write in the background it tells at the next write, and commits may be rare."""
        nonlocal count
        parked = is_parked(flow, "--state-folder")
        if not parked and count < 40_000:
            flow.feed(visits(range(count, count + 500)))
            count += 500
        return parked

    flow.until(parks_as_more_comes, "it parks with its reason")
    host.rlimit(resource.RLIMIT_FSIZE, (most, most))
    view = read_registry(flow.bootstrap)
    ((slot, placement),) = [(slot, each) for slot, each in view.placements.items() if each.flow == flow.name]
    flow.write((catalogue.PLACEMENTS, assigned(view, slot, str(placement.host), now_ms=1)))
    flow.until(lambda: flow.committed() >= count, "it goes on")
    assert count == len({each["user"] for each in flow.results()})


def is_parked(flow: Any, words: str) -> bool:
    return any(each.state == "parked" and words in str(each.reason) for each in flow.statuses().values())


def test_state_that_outgrows_its_host_is_parked_and_the_neighbours_run_on(
    hosts: Any, stage: Callable, tmp_path: Path
) -> None:
    """Otherwise the kernel would end the host with all that it runs."""
    large, small = (stage(COUNTS.replace("state: disk\n", ""), partitions=1, sink_partitions=1) for _ in range(2))
    hosts.start("a", extra=["--memory-limit", "250"])
    large.submit(hosts, "a")
    small.submit(hosts, "a")
    for first in range(0, 90_000, 10_000):
        large.feed(visits(range(first, first + 10_000)))
    large.until(lambda: is_parked(large, "state: disk"), "it parks with its reason")
    small.feed(visits(range(100)))
    small.until(lambda: small.committed() >= 100, "the neighbour runs on")
    assert hosts.running["a"].poll() is None
