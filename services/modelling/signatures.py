"""Signatures of bursty streams: segments of constant load, told where there is more than one (Synergy 2.3.4)."""

from collections.abc import Sequence

import numpy as np

from placement.fits import sign
from services.modelling.columns import Columns, numbers
from services.modelling.ring import Array
from topics.messages import SignatureModel
from topics.messages.models import SIGNATURE_MAX


def signature_columns(names: Sequence[tuple[str, str]], arrivals: Array, service_us: Array) -> Columns:
    """`arrivals`: (operators, seconds); `service_us`: of each operator and second, NaN for unknown."""
    usual_us = np.nanmean(np.where(np.isfinite(service_us).any(axis=1, keepdims=True), service_us, 0.0), axis=1)
    signed = sign(arrivals, usual_us / 1e6)
    begins = signed.begins.copy()
    begins[:, 0] = True
    bursty = np.flatnonzero((begins.sum(axis=1) > 1) & (usual_us > 0))
    keys, lasted, loads = [], [], []
    for row in bursty.tolist():
        starts = np.flatnonzero(begins[row])[-SIGNATURE_MAX:]
        ends = np.append(starts[1:], begins.shape[1])
        keys.append(names[row])
        lasted.append(tuple((ends - starts).tolist()))
        loads.append(tuple(numbers(signed.loads[row, starts])))
    return Columns(
        SignatureModel,
        [f"signature/{flow}/{operator}" for flow, operator in keys],
        np.full(len(keys), float(arrivals.shape[1])),
        np.full(len(keys), np.nan),
        [[flow for flow, _ in keys], [operator for _, operator in keys], lasted, loads],
    )
