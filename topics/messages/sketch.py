"""Small summaries of many samples that can be added up: moments, and a sketch with quantiles.

Both keep sums instead of averages, so that summaries of several seconds, partitions or hosts are simply added.
"""

import math
from collections import Counter
from collections.abc import Iterable

import msgspec

from topics.messages.base import Amount, Count

GROWTH = 1.1
"""Each bucket reaches 10 % further than the one before, so a quantile is right within 5 %."""

_BUCKET_MIN, _BUCKET_MAX = -145, 145
"""1e-6 to 1e6: a nanosecond to 17 minutes when the samples are milliseconds. Bounds the size of a sketch."""


class Moments(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Count, sum and sum of squares: what mean and variance are made of. Written as `[count, sum, sum_sq]`."""

    count: Count
    sum: Amount
    sum_sq: Amount

    @classmethod
    def rounded(cls, count: int, total: float, total_sq: float) -> "Moments":
        """Sums to six digits: more would only fill the topic, and mean and variance do not need them."""
        return cls(count, float(f"{total:.6g}"), float(f"{total_sq:.6g}"))


class Sketch(msgspec.Struct, frozen=True, gc=False):
    """Moments, extremes, and counts in buckets of growing width; `buckets` holds (bucket, count), sorted."""

    count: Count
    sum: Amount
    sum_sq: Amount
    min: Amount
    max: Amount
    buckets: tuple[tuple[int, Count], ...]

    @classmethod
    def of(cls, samples: Iterable[float]) -> "Sketch":
        """The sketch of these samples, none of them negative."""
        values = list(samples)
        counts = Counter(_bucket(value) for value in values)
        return cls(
            count=len(values),
            sum=math.fsum(values),
            sum_sq=math.fsum(value * value for value in values),
            min=min(values, default=0.0),
            max=max(values, default=0.0),
            buckets=tuple(sorted(counts.items())),
        )

    def quantile(self, share: float) -> float:
        """The value that this share of the samples does not exceed, within 5 %; 0 without samples."""
        left = math.ceil(share * self.count)
        for bucket, count in self.buckets:
            left -= count
            if left <= 0:
                middle = 2 * GROWTH**bucket / (GROWTH + 1)
                return min(max(middle, self.min), self.max)
        return self.max

    def samples(self, count_max: int) -> list[float]:
        """All samples, or so many that stand for them, in order: each as well as a quantile is known."""
        count = min(self.count, count_max)
        return [self.quantile((number + 0.5) / count) for number in range(count)]


def _bucket(value: float) -> int:
    """Bucket i holds the values in (GROWTH ** (i - 1), GROWTH ** i]; the outermost two also hold what lies beyond."""
    if value <= 0:
        return _BUCKET_MIN
    return min(max(math.ceil(math.log(value, GROWTH)), _BUCKET_MIN), _BUCKET_MAX)
