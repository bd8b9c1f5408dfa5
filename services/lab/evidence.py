"""Write docs/evidence.md from the result files in docs/evidence: `python -m services.lab.evidence`.

The page is made, never edited: what it says is what the commands found. `make evidence` runs them all; `--names` lists
them.
"""

import sys
from collections import Counter
from pathlib import Path

from services.lab.experiments import EXPERIMENTS, Experiment
from services.lab.results import Results, read
from services.lab.targets import Outcome, judge, verdict

_HEAD = """# Evidence: ants, models and Synergy's figures, repeated

Made by `python -m services.lab.evidence` from the result files beside it (`docs/evidence/*.json`), each written by the
command above its table. How the ants paper's evaluation is read is in
[decision 0047](decisions/0047-reading-the-papers-evaluation.md). Low and high are a 95 % confidence interval over seeds
for a mean, the smallest and largest otherwise; with few seeds the interval is wide and the figure preliminary. Whether
a target is met is told by comparing the row with it; where none is named there is none. A row that is missing or no
number is not measured. "paper's rules" is the parameter set `PAPER`, the letter of the ants paper.
"""
_SUMMARY = """| experiment | targets | seeds | commit |
|---|---|---|---|"""
_STALE = "none: stale, run again"


def page(folder: Path) -> str:
    """The whole page."""
    kept = {name: _kept(folder, name) for name in EXPERIMENTS}
    lines = [_summary(experiment, kept[name]) for name, experiment in EXPERIMENTS.items()]
    parts = [_HEAD, "\n".join([_SUMMARY, *lines, ""])]
    for name, experiment in EXPERIMENTS.items():
        parts.append(f"## {name}\n\n{experiment.question}\n\nThe paper: {experiment.paper}.\n")
        if experiment.reading:
            parts.append(f"{experiment.reading}.\n")
        found = kept[name]
        if found is None:
            parts.append(f"Not run yet on a quiet machine: `stigmergy evaluate {name}`\n")
            continue
        if experiment.targets:
            judged = [f"- {verdict(target, found.rows)}" for target in experiment.targets]
            parts.append("\n".join(["Targets:\n", *judged, ""]))
        parts.append(_table(found))
        plot = _file(folder, name).with_suffix(".png")
        if plot.exists():
            parts.append(f"![{name}]({folder.name}/{plot.name})\n")
    return "\n".join(parts)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '-')}.json"


def _kept(folder: Path, name: str) -> Results | None:
    file = _file(folder, name)
    return read(file) if file.exists() else None


def _summary(experiment: Experiment, found: Results | None) -> str:
    """The experiment's line of the table at the top."""
    link = f"[{experiment.name}](#{experiment.name.replace('/', '')})"
    if found is None:
        return f"| {link} | not run |  |  |"
    outcomes = Counter(judge(target, found.rows) for target in experiment.targets)
    told = [f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome if outcomes[outcome]]
    commit = f"`{found.commit[:10]}`" if found.commit else _STALE
    return f"| {link} | {', '.join(told) or 'none'} | {len(found.seeds)} | {commit} |"


def _table(found: Results) -> str:
    head = f"`{found.command}`, at commit " + (f"`{found.commit}`" if found.commit else _STALE)
    lines = [f"{head}\n", "| measure | value | low | high | unit | against |", "|---|---|---|---|---|---|"]
    for row in found.rows:
        numbers = " | ".join(f"{value:,.4g}" for value in (row.value, *row.spread))
        lines.append(f"| {row.measure} | {numbers} | {row.unit} | {row.baseline or ''} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    if "--names" in sys.argv:
        sys.stdout.write("\n".join(EXPERIMENTS) + "\n")
        raise SystemExit
    docs = Path(__file__).resolve().parents[2] / "docs"
    (docs / "evidence.md").write_text(page(docs / "evidence"))
    sys.stderr.write(f"wrote {docs / 'evidence.md'}\n")
