"""Seeded generators for the simulator: one for each user, named by the seed and the user."""

from random import Random

from placement.chance import ChanceFor


def seeded(seed: int | str) -> ChanceFor:
    """Generators that depend on nothing but the seed and their user's name, in any process."""
    return lambda user: Random(f"{seed}/{user}")
