"""What fails on its own: a host, the broker, Redis, a network. Records flow meanwhile, and none is lost or repeated."""

from collections.abc import Callable

from services.testing import Flow, Stigmergy, until
from tests.e2e.drive import Drive, Outcome
from tests.e2e.flows import STEADY

Report = Callable[[Outcome], None]


def test_a_host_is_killed_while_records_flow(stigmergy: Stigmergy, report: Report) -> None:
    """Its partitions run elsewhere within seconds, from the state that was committed: so also a flow that says nothing.

    What a host that dies has written and not committed, readers of committed records do not see.
    """
    with Drive(stigmergy, [STEADY], seed=83, delivery="at_least_once") as drive:
        drive.until_results(200)
        victim = owner(drive.flow)
        stigmergy.hosts[victim].kill()
        until(lambda: victim not in drive.flow.hosts()["total"], f"what ran on {victim} runs elsewhere")
        drive.until_further_results()
        stigmergy.hosts[victim].resume()
        stigmergy.until_ready([victim])
    report(drive.judge())


def test_the_broker_is_restarted_while_records_flow(stigmergy: Stigmergy, report: Report) -> None:
    """Nobody can do anything meanwhile; afterwards all go on by themselves."""
    with Drive(stigmergy, [STEADY], seed=84) as drive:
        drive.until_results(200)
        stigmergy.kafka.restart()
        stigmergy.until_kafka_answers()
        drive.until_further_results()
    report(drive.judge())


def test_redis_is_removed_and_brought_back_empty(stigmergy: Stigmergy, report: Report) -> None:
    """Redis is advice: results come on without it, and a flow can even be moved."""
    with Drive(stigmergy, [STEADY], seed=85) as drive:
        drive.until_results(200)
        stigmergy.redis.stop()
        drive.until_further_results()
        drive.flow.move("total", another(stigmergy, drive.flow))
        stigmergy.redis.start()
        drive.until_further_results()
    report(drive.judge())


def test_the_network_of_a_host_is_cut_and_restored(stigmergy: Stigmergy, report: Report) -> None:
    """It runs on alone and believes that it owns its partitions; when it is back, none of what it did counts."""
    with Drive(stigmergy, [STEADY], seed=86) as drive:
        drive.until_results(200)
        lonely = owner(drive.flow)
        stigmergy.hosts[lonely].cut_off()
        until(lambda: lonely not in drive.flow.hosts()["total"], f"what ran on {lonely} runs elsewhere")
        drive.until_further_results()
        stigmergy.hosts[lonely].reconnect()
        stigmergy.until_ready([lonely])
        drive.flow.move("total", lonely)
    report(drive.judge())


def owner(flow: Flow) -> str:
    """A host that runs partitions of `total`."""
    return min(flow.hosts()["total"])


def another(stigmergy: Stigmergy, flow: Flow) -> str:
    """A host that runs nothing of `total`."""
    return min(set(stigmergy.hosts) - flow.hosts()["total"])
