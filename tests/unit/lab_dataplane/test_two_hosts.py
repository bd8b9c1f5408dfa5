"""Two hosts against one: a ratio is of turns next to each other."""

from services.lab.dataplane.parties import BROKER, MACHINE, SIDE
from services.lab.dataplane.two_hosts import HostsTurn, rows

TWO, ONE = {SIDE: 1.7, BROKER: 0.2, MACHINE: 1.95}, {SIDE: 1.0, BROKER: 0.1, MACHINE: 1.2}


def test_a_ratio_is_of_turns_next_to_each_other() -> None:
    """The machine is half as fast in the second half of the trial; two hosts are worth 1.8 all the time."""
    fast = [HostsTurn(2, 180.0, TWO), HostsTurn(1, 100.0, ONE)] * 2
    slow = [HostsTurn(2, 90.0, TWO), HostsTurn(1, 50.0, ONE)] * 2
    ratio, *rest = rows("score", [[*fast, *slow], fast])
    assert ("score: 2 hosts over 1 host", 1.8, (1.8, 1.8), "1 host", 2) == (
        ratio.measure,
        ratio.value,
        ratio.spread,
        ratio.baseline,
        ratio.repetitions,
    )
    assert {
        "score: 2 hosts": (135.0, 180.0),
        "score: 2 hosts, side": (1.7, 1.7),
        "score: 2 hosts, broker": (0.2, 0.2),
        "score: 2 hosts, whole machine": (1.95, 1.95),
        "score: 1 host": (75.0, 100.0),
        "score: 1 host, side": (1.0, 1.0),
        "score: 1 host, broker": (0.1, 0.1),
        "score: 1 host, whole machine": (1.2, 1.2),
    } == {row.measure: row.spread for row in rest}
