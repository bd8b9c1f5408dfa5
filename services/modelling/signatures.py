"""Signatures of bursty streams: segments of constant load, told where there is more than one (Synergy 2.3.4)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from placement.fits import sign
from placement.fits.arrays import divide
from services.modelling.columns import Columns, tidy
from services.modelling.ring import Array, Indices
from topics.messages import SignatureModel
from topics.messages.models import SIGNATURE_MAX


def signature_columns(names: Sequence[tuple[str, str]], arrivals: Array, service_us: Array, seconds: Array) -> Columns:
    """`arrivals`: (operators, seconds); `service_us`: of each, NaN for unknown; `seconds`: how many were measured.

    The error is the root mean square of what seconds are off from the load of their segment, over the mean load.
    """
    usual_us = np.nanmean(np.where(np.isfinite(service_us).any(axis=1, keepdims=True), service_us, 0.0), axis=1)
    signed = sign(arrivals, usual_us / 1e6)
    begins = signed.begins.copy()
    begins[:, 0] = True
    bursty = np.flatnonzero((begins.sum(axis=1) > 1) & (usual_us > 0))
    off = arrivals[bursty] * usual_us[bursty, None] / 1e6 - signed.loads[bursty]
    rows, starts = np.nonzero(begins[bursty])
    many = np.bincount(rows, minlength=len(bursty))
    ends = np.append(starts[1:], 0)
    ends[many.cumsum() - 1] = begins.shape[1]
    lasted = _cut((ends - starts).tolist(), many)
    loads = _cut(tidy(signed.loads[bursty][rows, starts]).tolist(), many)
    found = [names[row] for row in bursty.tolist()]
    return Columns(
        SignatureModel,
        [f"signature/{flow}/{operator}" for flow, operator in found],
        seconds[bursty],
        divide(np.sqrt(np.square(off).mean(axis=1)), signed.loads[bursty].mean(axis=1)),
        [[flow for flow, _ in found], [operator for _, operator in found], lasted, loads],
    )


def _cut(values: list[Any], many: Indices) -> list[tuple[Any, ...]]:
    """So many values for each row, the last ones if a model can't hold all."""
    ends = many.cumsum().tolist()
    return [
        tuple(values[end - min(count, SIGNATURE_MAX) : end]) for end, count in zip(ends, many.tolist(), strict=True)
    ]
