"""Flows in containers give what the operators give in one process."""

from collections.abc import Callable

from services.testing import Stigmergy
from tests.e2e.drive import Drive, Outcome
from tests.e2e.flows import COUNTING, EVERYTHING, SUMMING


def test_a_flow_with_every_kind_of_operator_gives_what_the_oracle_gives(
    stigmergy: Stigmergy, report: Callable[[Outcome], None]
) -> None:
    """The base of all others: without a fault nothing may differ."""
    with Drive(stigmergy, [EVERYTHING], seed=81) as drive:
        drive.until_results(3_000)
    report(drive.judge())


def test_two_flows_with_an_equal_operator_give_their_own_results_and_one_goes_without_hurting_the_other(
    stigmergy: Stigmergy, report: Callable[[Outcome], None]
) -> None:
    """The second reads what the first computes, and nobody's results tell. The one that goes comes back."""
    with Drive(stigmergy, [COUNTING, SUMMING], seed=82) as drive:
        counting, summing = drive.flows
        (edges,) = drive.reads(summing).values()
        assert {counting.name} == {edge.tap.server for edge in edges}, "all but its end runs for both"
        drive.until_results(200)
        counting.withdraw()
        drive.until_further_results()
        assert 2 == len(drive.reads(counting)), "what is shared goes on, the first flow's own end does not"
        summing.until_running()
        drive.resubmit(counting)
    report(drive.judge())
