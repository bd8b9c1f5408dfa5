"""Chance is an argument: what the brain asks of a generator of random numbers. `random.Random` is one."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Chance(Protocol):
    """A seeded generator, given by the body."""

    def random(self) -> float:
        """From 0 to below 1."""

    def uniform(self, low: float, high: float, /) -> float:
        """Between both."""

    def randint(self, low: int, high: int, /) -> int:
        """Between both, and either."""

    def randrange(self, end: int, /) -> int:
        """From 0 to below the end."""

    def choice(self, options: Sequence[T], /) -> T:
        """One of them."""

    def sample(self, options: Sequence[T], count: int, /) -> list[T]:
        """So many different ones."""


ChanceFor = Callable[[str], Chance]
"""A generator of its own for each user, by name: what one draws does not disturb another."""
