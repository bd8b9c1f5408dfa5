"""What two lives showed: warnings as `placement.hotspots.verdicts` counts them, broken bounds, pauses. Pure.

Warnings are judged in the life that only reacts: there nobody acts on them, so that a bound which was foreseen to break
breaks. Flows move there, too, once it is broken; a warning of a flow on whose hosts somebody came or went meanwhile is
not judged, as live.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from placement.fits.arrays import Array
from placement.hotspots import VerdictParams
from services.lab.hotspots.flows import BOUND_MS
from services.lab.hotspots.life import STEPS, Life, Where
from services.lab.samples import Sample, Statistic
from services.modelling.flow_verdicts import Company, FlowVerdicts

HOLDS_S = 10
"""How long a warning may hold: as in the simulated half."""
GAP_S = 3
"""Breaks not further apart than this are one."""
TWICE_THE_PAUSE = "twice the pause of a move, as measured"
BROKEN = "flow-seconds beyond the bound"


def samples_of(lives: Mapping[str, Life], seed: int) -> list[Sample]:
    """All rows of one seed."""
    pauses = [pause_ms / 1e3 for life in lives.values() for pause_ms in life.pauses_ms]
    return [
        *(sample for who in lives["reacting"].warned for sample in _warning_samples(lives["reacting"], who, seed)),
        *(Sample("pause of a move, median", each, "s", None, Statistic.MEDIAN, seed) for each in pauses),
        *(Sample(TWICE_THE_PAUSE, 2 * each, "s", None, Statistic.MEDIAN, seed) for each in pauses),
        *_broken_samples(lives, seed),
        *(sample for how, life in lives.items() for sample in _ground_samples(how, life, seed)),
    ]


def verdicts_of(life: Life, who: str = "", *, holds_s: int = HOLDS_S) -> FlowVerdicts:
    """How the warnings came out; of all, or of some alone."""
    verdicts = FlowVerdicts(VerdictParams(holds_s=holds_s * STEPS, gap_s=GAP_S * STEPS))
    for step, (late, warned) in enumerate(zip(life.late, life.warned[who], strict=True)):
        slack = {flow: -1.0 if is_late else 1.0 for flow, is_late in zip(life.flows, late.tolist(), strict=True)}
        verdicts.step(step, slack, warned, company_of(life.where[step // STEPS]))
    return verdicts


def company_of(where: Where) -> Company:
    """Of each flow: its hosts, and who is there."""
    there: dict[str, set[str]] = {}
    for flow, hosts in where.items():
        for host in hosts:
            there.setdefault(host, set()).add(flow)
    return {flow: frozenset((host, other) for host in hosts for other in there[host]) for flow, hosts in where.items()}


def _warning_samples(life: Life, who: str, seed: int) -> list[Sample]:
    verdicts, label = verdicts_of(life, who), f"within {HOLDS_S} s{who}"
    breaks, warnings = verdicts.hits + verdicts.misses, verdicts.hits + verdicts.false
    hits = float(verdicts.hits)
    return [
        Sample(f"recall, {label}", hits, "share", None, Statistic.QUOTIENT, seed, of=float(breaks)),
        Sample(f"precision, {label}", hits, "share", None, Statistic.QUOTIENT, seed, of=float(warnings)),
        *(
            Sample(f"lead time, median, {label}", each / STEPS, "s", None, Statistic.MEDIAN, seed)
            for each in verdicts.leads_s
        ),
        Sample(f"hot spots{who}", float(breaks), "episodes", None, Statistic.SUM, seed),
        Sample(f"warnings that were judged{who}", float(warnings), "warnings", None, Statistic.SUM, seed),
    ]


def _broken_samples(lives: Mapping[str, Life], seed: int) -> list[Sample]:
    broken = {how: float((life.latency_ms > BOUND_MS).sum()) for how, life in lives.items()}
    samples = []
    for how, life in lives.items():
        size = float(life.latency_ms.size)
        samples.append(Sample(f"{BROKEN}, {how}", broken[how], "share", None, Statistic.QUOTIENT, seed, of=size))
        samples.append(Sample(f"moves, {how}", float(life.moves), "moves", seed=seed))
        samples += _line(how, life.latency_ms, seed)
    ratio = (broken["foreseeing"], "ratio", "reacting", Statistic.QUOTIENT, seed)
    return [*samples, Sample(f"{BROKEN}, foreseeing", *ratio, of=broken["reacting"])]


def _line(how: str, latency_ms: Array, seed: int) -> list[Sample]:
    """For the plot."""
    beyond = (latency_ms > BOUND_MS).sum(axis=1).tolist()
    return [
        Sample("", float(count), "flows", seed=seed, series=how, x=float(second)) for second, count in enumerate(beyond)
    ]


def _ground_samples(how: str, life: Life, seed: int) -> list[Sample]:
    """What the rest is to be read by."""
    calm_ms = life.latency_ms[life.latency_ms <= BOUND_MS]
    return [
        *_medians(f"models behind their second, median, {how}", life.behind_s, "s", seed),
        *_medians(f"latency within the bound, median, {how}", np.asarray(calm_ms).tolist(), "ms", seed),
        Sample(f"processors in use, {how}", life.busy, "share", seed=seed),
        Sample(f"records without a result, {how}", float(life.missing), "records", None, Statistic.SUM, seed),
    ]


def _medians(measure: str, values: Sequence[float], unit: str, seed: int) -> list[Sample]:
    """One for each seed: there are hundreds."""
    return [Sample(measure, float(np.median(values)), unit, seed=seed)] if len(values) else []
