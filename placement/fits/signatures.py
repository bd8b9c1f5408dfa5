"""Stream signatures: bursty load as segments of constant load (Synergy 2.3.4, figure 2.9).

A second belongs to the present segment as long as its load is what chance makes of the segment's mean. Signatures of
streams that meet on a host are added second by second, which is finer than any segment, so that bursts which coincide
show (eq 2.10), and those which take turns do not.
"""

from dataclasses import dataclass

import numpy as np

from placement.fits.arrays import Array, Flags, Indices

SURPRISE = 4.0
"""A second this many standard deviations from its segment's mean begins another one."""
FULL = 0.98
"""Load from which a queue has no end (DESIGN section 5)."""


@dataclass(frozen=True, slots=True)
class Signatures:
    """For each row and second the mean load of the segment it is in, and whether a segment begins there."""

    loads: Array
    begins: Flags


def sign(counts: Array, load_of_one: Array) -> Signatures:
    """Signatures of streams: `counts` (rows, seconds) of records, and the load that one of them a second is."""
    rows, seconds = counts.shape
    begins = np.zeros(counts.shape, dtype=bool)
    mean, length = np.zeros(rows), np.zeros(rows)
    for second in range(seconds):
        now = counts[:, second]
        # Poisson within a segment: the variance is the mean; the mean itself is known from `length` seconds.
        unsure = np.sqrt(np.maximum(mean, 1.0) * (1.0 + 1.0 / np.maximum(length, 1.0)))
        new = (np.abs(now - mean) > SURPRISE * unsure) | (length == 0)
        begins[:, second] = new
        length = np.where(new, 1.0, length + 1.0)
        mean = np.where(new, now, mean + (now - mean) / length)
    segment = begins.cumsum(axis=1) - 1 + seconds * np.arange(rows)[:, None]
    total = np.bincount(segment.ravel(), counts.ravel(), minlength=rows * seconds)
    many = np.bincount(segment.ravel(), minlength=rows * seconds)
    level = (total / np.maximum(many, 1))[segment]
    return Signatures(level * load_of_one[:, None], begins)


def combine(signatures: Signatures, rows: Indices) -> Array:
    """Load of each second of all these streams together (the sum in eq 2.10)."""
    return np.asarray(signatures.loads[rows].sum(axis=0))


def impact(load: Array, added: Array, alone: float) -> Array:
    """What `added` load costs a task that takes `alone` by itself, segment by segment (eq 2.11); infinite when full."""
    return _stretched(load + added, alone) - np.where(load < FULL, _stretched(load, alone), 0.0)


def _stretched(load: Array, alone: float) -> Array:
    return np.where(load < FULL, alone / (1.0 - np.minimum(load, FULL)), np.inf)
