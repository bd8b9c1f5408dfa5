"""What people do to a running system: add and drain hosts, move, upgrade. And an instance that dies in the midst of it.

Records flow meanwhile, and none is lost or repeated.
"""

import io
from collections.abc import Callable, Iterator

import docker
import pytest

from services.registry.snapshot import read_registry
from services.testing import Flow, Stigmergy, until
from tests.e2e.drive import Drive, Outcome
from tests.e2e.flows import STEADY
from topics import catalogue

Report = Callable[[Outcome], None]

ENDED = ("done", "rolled_back", "abandoned")


def test_a_host_is_added_and_another_one_drained(stigmergy: Stigmergy, report: Report) -> None:
    """The way to replace a machine: the new one takes part, the old one is empty and can go, with its disk."""
    with Drive(stigmergy, [STEADY], seed=87, state="disk") as drive:
        drive.until_results(200)
        stigmergy.add_host("host-4")
        leaving = min(drive.flow.hosts()["total"])
        drive.flow.move("best", "host-4")
        stigmergy.drain(leaving)
        assert all(leaving not in hosts for hosts in drive.flow.hosts().values())
        drive.until_further_results()
    report(drive.judge())
    assert {"host-4"} <= {move.target for move in drive.flow.moves()}


def test_the_active_placement_instance_is_killed_in_the_midst_of_a_move(stigmergy: Stigmergy, report: Report) -> None:
    """The other one takes over and brings the move to an end: there, or back where it came from."""
    with Drive(stigmergy, [STEADY], seed=88) as drive:
        drive.until_results(200)
        active = kill_amid_a_move(stigmergy, drive.flow)
        until_another_is_active(stigmergy, active)
        until(lambda: not under_way(drive.flow), "all moves have ended")
        drive.flow.until_running()
        drive.until_further_results()
    report(drive.judge())


@pytest.fixture
def next_image(stigmergy: Stigmergy) -> Iterator[str]:
    """The next version of our image: of another revision, and so another image."""
    client = docker.from_env()
    name = f"stigmergy-next:{stigmergy.site.run}"
    lines = f"FROM {stigmergy.site.images.stigmergy}\nLABEL org.opencontainers.image.revision=next\n"
    client.images.build(fileobj=io.BytesIO(lines.encode()), tag=name, rm=True)
    yield name
    for host in stigmergy.hosts.values():
        if host.image == name:
            host.upgrade(stigmergy.site.images.stigmergy)
    client.images.remove(name, force=True)
    client.close()


def test_the_image_is_upgraded_host_by_host(stigmergy: Stigmergy, next_image: str, report: Report) -> None:
    """Each host stops in peace and comes back as the next version, with its name and its partitions."""
    with Drive(stigmergy, [STEADY], seed=89) as drive:
        drive.until_results(200)
        before = {host.get_wrapped_container().image.id for host in stigmergy.hosts.values()}
        for name, host in stigmergy.hosts.items():
            host.upgrade(next_image)
            stigmergy.until_ready([name])
            drive.flow.until_running()
        after = {host.get_wrapped_container().image.id for host in stigmergy.hosts.values()}
        drive.until_further_results()
    report(drive.judge())
    assert before.isdisjoint(after)


def kill_amid_a_move(stigmergy: Stigmergy, flow: Flow) -> str:
    """Kills the active instance while a move that it has begun is under way; its name.

    A move is over within a second. So its target stands still, and no move ends, until the instance is dead.
    """
    active = until(stigmergy.active_placement, "an instance is active")
    target = min(set(stigmergy.hosts) - flow.hosts()["total"])
    standing = stigmergy.hosts[target].get_wrapped_container()
    standing.pause()
    try:
        flow.move("total", target, wait=False)
        until(lambda: under_way(flow), "the move has begun")
        stigmergy.placements[active].kill()
        assert under_way(flow)
    finally:
        standing.unpause()
    return active


def until_another_is_active(stigmergy: Stigmergy, former: str) -> None:
    until(lambda: stigmergy.active_placement() not in (None, former), "another instance is active")


def under_way(flow: Flow) -> list[str]:
    """The moves of the flow that have not ended."""
    found = read_registry(flow.stigmergy.bootstrap, catalogue.MOVES).moves.values()
    return [each.move for each in found if each.flow == flow.name and each.phase not in ENDED]
