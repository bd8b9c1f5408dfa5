"""The shop's flow, as its producers and consumers see it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from services.testing import Flow, Stigmergy, until

FLOW = Path(__file__).parents[1] / "flow.yaml"
NOON_MS = 1_700_000_000_000

Submit = Callable[[Path], Flow]


def orders(customer: str, *totals: int) -> list[dict[str, object]]:
    return [
        {"customer": customer, "status": "paid", "total": total, "placed_at": NOON_MS + number}
        for number, total in enumerate(totals)
    ]


def test_turnover_counts_paid_orders_alone(submit: Submit) -> None:
    flow = submit(FLOW)
    unpaid = {"customer": "ada", "status": "open", "total": 1_000, "placed_at": NOON_MS}
    flow.send("orders", [unpaid, *orders("ada", 10, 20), *orders("bob", 5)])
    results = flow.results("turnovers", 3)
    assert [
        {"customer": "ada", "orders": 1, "total": 10},
        {"customer": "ada", "orders": 2, "total": 30},
        {"customer": "bob", "orders": 1, "total": 5},
    ] == sorted(results, key=lambda each: (each["customer"], each["orders"]))


def test_an_order_far_above_the_customers_average_raises_an_alarm(submit: Submit) -> None:
    flow = submit(FLOW)
    flow.send("orders", orders("ada", 10, 10, 500))
    (alarm,) = flow.results("alarms", 1)
    assert ("ada", 500, 50) == (alarm["customer"], alarm["total"], alarm["factor"])


def test_an_order_without_a_total_becomes_a_dead_letter_and_the_next_one_counts(submit: Submit) -> None:
    flow = submit(FLOW)
    broken = {"customer": "ada", "status": "paid", "placed_at": NOON_MS}
    flow.send("orders", [broken, *orders("ada", 10, 10, 500)])
    flow.results("alarms", 1)
    (letter,) = until(flow.dead_letters, "the broken order is set aside")
    assert "rated" == letter.operator


@pytest.mark.parametrize("how", ["moved", "killed"])
def test_what_is_known_of_a_customer_survives(stigmergy: Stigmergy, submit: Submit, how: str) -> None:
    """The averages go with the operator, wherever it goes and why."""
    flow = submit(FLOW)
    flow.send("orders", orders("ada", 10, 10))
    flow.results("turnovers", 2)
    (before,) = flow.hosts()["rated"]
    (other,) = set(stigmergy.hosts) - {before}
    if how == "moved":
        flow.move("rated", other)
        assert {other} == {move.target for move in flow.until_moved(to=other)}
    else:
        stigmergy.hosts[before].kill()
        until(lambda: {other} == flow.hosts()["rated"], f"all of it runs on {other}")
    flow.send("orders", orders("ada", 500))
    assert [50] == [alarm["factor"] for alarm in flow.results("alarms", 1)]
    if how == "killed":
        stigmergy.hosts[before].resume()
        stigmergy.until_ready()
