"""A bench that fails after an hour must not lose that hour."""

from types import SimpleNamespace
from typing import Any

import pytest

from services.lab.cluster.site import Site
from services.lab.dataplane.ground import BenchError


def test_a_repetition_that_fails_ends_it_and_what_was_found_before_counts() -> None:
    """Unless there is nothing: then the part has failed."""
    said: list[str] = []
    ground: Any = SimpleNamespace(say=lambda text: None, warn=said.append)
    nothing: Any = None
    site = Site(nothing, nothing, ground, nothing, {})

    def fails_at_two(number: int) -> int:
        if number == 2:
            raise BenchError("no result in 120 s")
        return number

    assert [0, 1] == site.repeated("submit", 5, fails_at_two)
    assert ["submit ends after 2 of 5: no result in 120 s"] == said
    with pytest.raises(BenchError):
        site.repeated("submit", 5, lambda number: fails_at_two(2))
