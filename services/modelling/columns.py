"""From columns of numbers to messages and their bytes: no Python step for each model, only C loops over columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import msgspec
import numpy as np

from services.modelling.ring import Array
from topics.messages import Model

DIGITS = 6
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Stamp:
    """What all models of a batch have in common."""

    second: int
    window_s: int
    made_ms: int
    batch: int


@dataclass(frozen=True, slots=True)
class Columns:
    """Models of one kind, column by column. `error`: NaN where it can't be told."""

    body: type[msgspec.Struct]
    keys: Sequence[str]
    samples: Array
    error: Array
    figures: Sequence[Sequence[Any]]
    """The fields of the body in their order, each as long as `keys`."""
    window_s: int | None = None
    """What they rest on, if it is not the window of the batch."""

    def encode(self, stamp: Stamp) -> list[bytes]:
        """The bytes of all models."""
        bodies: Iterable[Any] = map(self.body, *self.figures)
        models = map(
            Model,
            self.keys,
            repeat(stamp.second),
            repeat(stamp.window_s if self.window_s is None else self.window_s),
            self.samples.astype(np.int64).tolist(),
            optional(self.error),
            repeat(stamp.made_ms),
            repeat(stamp.batch),
            bodies,
        )
        return list(map(_encode, models))


def numbers(values: Array) -> list[float]:
    """Finite numbers, to six digits: more would only fill the topic. What is not finite becomes 0."""
    return tidy(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)).tolist()


def optional(values: Array) -> list[float | None]:
    """Numbers to six digits; what is not finite is None."""
    finite = np.isfinite(values)
    told = tidy(np.where(finite, values, 0.0)).astype(object)
    told[~finite] = None
    return told.tolist()


def tidy(values: Array) -> Array:
    """To six significant digits."""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    scale = 10.0 ** np.clip(DIGITS - 1 - size, -290, 290)
    return np.asarray(np.where(values == 0, 0.0, np.round(values * scale) / scale))
