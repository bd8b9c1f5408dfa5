"""Plots of experiments and of pheromone. matplotlib is an extra: `lab` in pyproject.toml."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from placement.model import Network
from services.lab.samples import Sample, confidence


class NoPlotLibraryError(RuntimeError):
    """matplotlib is not installed; the message says how to get it."""


def plot_samples(samples: Sequence[Sample], path: Path, *, title: str, x_label: str, y_label: str) -> None:
    """Each series as a line over x, with its confidence band; without any series, the measures as bars."""
    figure, axes = _figure(1)
    points: dict[str, dict[float, list[Sample]]] = {}
    for sample in samples:
        if sample.x is not None and math.isfinite(sample.value):
            points.setdefault(sample.series, {}).setdefault(sample.x, []).append(sample)
    for series, by_x in points.items():
        xs = sorted(by_x)
        axes[0].plot(xs, [fmean(sample.value for sample in by_x[x]) for x in xs], marker="o", label=series)
        bands = [confidence(by_x[x]) for x in xs]
        axes[0].fill_between(xs, [low for low, _ in bands], [high for _, high in bands], alpha=0.15)
    if points:
        axes[0].legend()
    else:
        _bars(axes[0], samples)
    axes[0].set(title=title, xlabel=x_label, ylabel=y_label)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def plot_pheromone(network: Network, moments: Sequence[tuple[str, dict[tuple[str, str], float]]], path: Path) -> None:
    """Pheromone on the map: line width is the probability of walking along a link, one picture a moment."""
    places = _map(network)
    figure, axes = _figure(len(moments))
    for axis, (label, strengths) in zip(axes, moments, strict=True):
        axis.scatter([x for x, _ in places.values()], [y for _, y in places.values()], s=6, color="black", zorder=3)
        for (origin, target), strength in sorted(strengths.items()):
            xs, ys = zip(places[origin], places[target], strict=True)
            axis.plot(xs, ys, color="tab:orange", linewidth=4 * strength, alpha=0.2 + 0.8 * strength)
        axis.set(title=label, xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def _bars(axis: Any, samples: Sequence[Sample]) -> None:
    groups: dict[str, list[float]] = {}
    for sample in samples:
        if sample.measure and sample.unit == "ratio":
            groups.setdefault(sample.measure, []).append(sample.value)
    names = list(groups)
    axis.barh(range(len(names)), [fmean(groups[name]) for name in names])
    axis.set_yticks(range(len(names)), names, fontsize=6)


def _map(network: Network) -> dict[str, tuple[float, float]]:
    """Places on a plane such that distances resemble delays (classical scaling)."""
    delays = np.minimum(network.delays_ms, 1e4)
    squares = ((delays + delays.T) / 2) ** 2
    centre = np.eye(len(squares)) - 1 / len(squares)
    values, vectors = np.linalg.eigh(-centre @ squares @ centre / 2)
    plane = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return {host.name: (float(plane[k, 1]), float(plane[k, 0])) for k, host in enumerate(network.hosts)}


def require_plots() -> None:
    """Fail now, not after the work, if nothing can be drawn."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise NoPlotLibraryError("plots need matplotlib; install the extra: pip install 'stigmergy[lab]'") from error
    mpl.use("Agg")


def can_draw(path: Path) -> bool:
    """Whether the ending of a file's name is one that plots have."""
    from matplotlib.backend_bases import FigureCanvasBase

    return path.suffix.lower().removeprefix(".") in FigureCanvasBase.get_supported_filetypes()


def _figure(columns: int) -> tuple[Any, Any]:
    require_plots()
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, columns, figsize=(6.4 * columns, 4.4), squeeze=False)
    return figure, axes[0]
