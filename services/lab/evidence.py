"""Write docs/evidence.md from the result files in docs/evidence: `python -m services.lab.evidence`.

The page is made, never edited: what it says is what the commands found. `make evidence` runs all experiments (`--names`
lists them), `make lives` the random lives.
"""

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from services.lab.checkout import commits_since
from services.lab.experiments import EXPERIMENTS
from services.lab.lives import TARGETS
from services.lab.results import Results, read
from services.lab.targets import Outcome, Target, judge, verdict

_HEAD = """# Evidence: ants, models and Synergy's figures, repeated

Made by `python -m services.lab.evidence` from the result files beside it (`docs/evidence/*.json`), each written by the
command above its table. How the ants paper's evaluation is read is in
[decision 0047](decisions/0047-reading-the-papers-evaluation.md). Low and high are a 95 % confidence interval over seeds
for a mean, the smallest and largest otherwise; with few seeds the interval is wide and the figure preliminary. Whether
a target is met is told by comparing the row with it; where none is named there is none. A row that is missing or no
number is not measured. "paper's rules" is the parameter set `PAPER`, the letter of the ants paper. Behind the commit
that was measured is how many later ones, when this page was made, have touched the brain (`placement/`); not each of
them changes what ants do.
"""
_SUMMARY = """| experiment | targets | seeds | commit, later ones |
|---|---|---|---|"""
_STALE = "none: stale, run again"


@dataclass(frozen=True, slots=True)
class _Section:
    """What the page tells of one result file."""

    name: str
    question: str
    command: str
    targets: tuple[Target, ...]
    paper: str = ""
    reading: str = ""


_LIVES = _Section(
    "simulate/life",
    "Do the invariants hold, whatever dies and whoever competes? Random lives of small systems: flows come and go, "
    "hosts and links die and return, cross-traffic jumps.",
    "make lives",
    TARGETS,
    reading="Rows are sums over all lives; low and high are the least and the most of one. What is checked when: "
    "[0328](decisions/0328-what-is-checked-when.md)",
)


def _sections() -> list[_Section]:
    experiments = [
        _Section(name, each.question, f"stigmergy evaluate {name}", each.targets, each.paper, each.reading)
        for name, each in EXPERIMENTS.items()
    ]
    return [*experiments, _LIVES]


def page(folder: Path) -> str:
    """The whole page."""
    sections = [(section, _kept(folder, section.name)) for section in _sections()]
    parts = [_HEAD, "\n".join([_SUMMARY, *(_summary(section, found) for section, found in sections), ""])]
    for section, found in sections:
        parts.append(f"## {section.name}\n\n{section.question}\n")
        if section.paper:
            parts.append(f"The paper: {section.paper}.\n")
        if section.reading:
            parts.append(f"{section.reading}.\n")
        if found is None:
            parts.append(f"Not run yet on a quiet machine: `{section.command}`\n")
            continue
        if section.targets:
            judged = [f"- {verdict(target, found.rows)}" for target in section.targets]
            parts.append("\n".join(["Targets:\n", *judged, ""]))
        parts.append(_table(found))
        plot = _file(folder, section.name).with_suffix(".png")
        if plot.exists():
            parts.append(f"![{section.name}]({folder.name}/{plot.name})\n")
    return "\n".join(parts)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '-')}.json"


def _kept(folder: Path, name: str) -> Results | None:
    file = _file(folder, name)
    return read(file) if file.exists() else None


def _summary(section: _Section, found: Results | None) -> str:
    """The section's line of the table at the top."""
    link = f"[{section.name}](#{section.name.replace('/', '')})"
    if found is None:
        return f"| {link} | not run |  |  |"
    outcomes = Counter(judge(target, found.rows) for target in section.targets)
    told = [f"{outcomes[outcome]} {outcome.value}" for outcome in Outcome if outcomes[outcome]]
    return f"| {link} | {', '.join(told) or 'none'} | {len(found.seeds)} | {_age(found.commit)} |"


def _age(commit: str | None) -> str:
    """The commit that was measured, and what came after it."""
    if not commit:
        return _STALE
    later = commits_since(commit, "placement")
    return f"`{commit[:10]}`" + (f" + {later}" if later is not None else "")


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
