"""`stigmergy simulate place`: what a placement is compared with, in words."""

from services.lab.placing_run import Told


def compared(*, proven: bool, bound_ms: float | None) -> str:
    told = Told(3, 1, 10.0, {"o": "a"}, 30.0, best_ms=20.0, best_is_proven=proven, bound_ms=bound_ms, hops=1)
    return next(line for line in told.lines() if line.startswith("latency"))


def test_what_is_not_proven_is_told_with_the_bound() -> None:
    """'0.2433 of the best known' said nothing: the best known was one that ants beat fourfold."""
    assert "latency 30.00 ms, 1.5000 of the proven optimum (20.00 ms)" == compared(proven=True, bound_ms=20.0)
    best = "latency 30.00 ms, 1.5000 of the best that a search found (20.00 ms, not proven"
    assert f"{best}; no placement is below 8.00 ms)" == compared(proven=False, bound_ms=8.0)
    assert f"{best})" == compared(proven=False, bound_ms=None)
