"""Metrics in the text format of Prometheus."""

from collections.abc import Iterable, Mapping

Labels = Mapping[str, str | int]


def metric(name: str, kind: str, what: str, samples: Iterable[tuple[Labels, float]]) -> list[str]:
    """One metric with all its samples, as lines; none without samples."""
    rows = [f"stigmergy_{name}{_labels(labels)} {value}" for labels, value in samples]
    return [f"# HELP stigmergy_{name} {what}.", f"# TYPE stigmergy_{name} {kind}", *rows] if rows else []


def _labels(labels: Labels) -> str:
    quoted = (f'{name}="{_escaped(str(value))}"' for name, value in labels.items())
    return "{" + ",".join(quoted) + "}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
