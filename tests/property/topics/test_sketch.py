"""Sketches: small, and right about quantiles within their promise."""

import math

from hypothesis import given
from hypothesis import strategies as st

from topics.messages import Moments, Sketch

SAMPLES = st.lists(st.floats(1e-5, 1e5), min_size=1, max_size=200)


@given(samples=SAMPLES, share=st.floats(0.01, 1.0))
def test_a_quantile_is_right_within_five_percent(samples: list[float], share: float) -> None:
    """A latency bound is judged by such quantiles."""
    exact = sorted(samples)[math.ceil(share * len(samples)) - 1]
    assert math.isclose(exact, Sketch.of(samples).quantile(share), rel_tol=0.05)


@given(samples=SAMPLES, most=st.integers(1, 10))
def test_a_few_samples_stand_for_all(samples: list[float], most: int) -> None:
    """Who keeps samples of many seconds must not keep them all, and loses no small sketch."""
    few = Sketch.of(samples).samples(most)
    assert (min(most, len(samples)), sorted(few)) == (len(few), few)
    assert min(samples) <= few[0] <= few[-1] <= max(samples)
    if len(samples) <= most:
        assert all(math.isclose(a, b, rel_tol=0.05) for a, b in zip(sorted(samples), few, strict=True))


@given(samples=SAMPLES)
def test_the_moments_and_extremes_are_exact(samples: list[float]) -> None:
    """Mean and variance come from the sums, not from the buckets."""
    sketch = Sketch.of(samples)
    assert (len(samples), min(samples), max(samples)) == (sketch.count, sketch.min, sketch.max)
    assert math.isclose(sum(samples), sketch.sum, rel_tol=1e-9)
    assert math.isclose(sum(sample**2 for sample in samples), sketch.sum_sq, rel_tol=1e-9)


@given(samples=st.lists(st.floats(0, 1e300), max_size=50))
def test_a_sketch_is_bounded_whatever_the_samples(samples: list[float]) -> None:
    """A link that hangs for hours must not make its metrics grow."""
    assert all(-145 <= bucket <= 145 for bucket, _ in Sketch.of(samples).buckets)


def test_no_samples_make_an_empty_sketch() -> None:
    """A second without round trips is still reported."""
    assert Sketch(count=0, sum=0.0, sum_sq=0.0, min=0.0, max=0.0, buckets=()) == Sketch.of([])
    assert Sketch.of([]).quantile(0.5) == 0.0


@given(count=st.integers(1, 10**6), mean=st.floats(1e-3, 1e6), spread=st.floats(1.01, 10))
def test_rounded_moments_keep_the_variance(count: int, mean: float, spread: float) -> None:
    """Six digits are enough for the queueing model, whose inputs are never known that well."""
    moments = Moments.rounded(count, count * mean, count * mean**2 * spread)
    exact = mean**2 * (spread - 1)
    assert math.isclose(exact, moments.sum_sq / count - (moments.sum / count) ** 2, rel_tol=0.01)
