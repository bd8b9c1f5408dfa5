"""The weighted median: one wild voice moves a mean, not a median."""

import numpy as np

from placement.forecast.history import Array


def weighted_median(values: Array, weights: Array) -> Array:
    """Column by column; between two neighbours in proportion to where half of the weight lies.

    Of several sets of weights (sets, rows, columns) one median each, for little more than the price of one.
    """
    order = values.argsort(axis=0)
    values = np.take_along_axis(values, order, axis=0)
    columns = np.arange(values.shape[1])
    weights = weights[..., order, columns]
    middle = (weights.cumsum(axis=-2) - weights / 2) / weights.sum(axis=-2, keepdims=True)
    above = np.clip((middle < 0.5).sum(axis=-2, keepdims=True), 1, len(values) - 1)
    low, high = (np.take_along_axis(middle, each, axis=-2)[..., 0, :] for each in (above - 1, above))
    above = above[..., 0, :]
    share = np.clip((0.5 - low) / np.maximum(high - low, 1e-12), 0.0, 1.0)
    return np.asarray(values[above - 1, columns] * (1 - share) + values[above, columns] * share)
