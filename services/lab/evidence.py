"""Write docs/evidence.md from the result files in docs/evidence: `python -m services.lab.evidence`.

The page is made, never edited: what it says is what the commands found. `make evidence` runs them all; `--names` lists
them.
"""

import sys
from pathlib import Path

from services.lab.experiments import EXPERIMENTS
from services.lab.results import Results, read
from services.lab.targets import verdict

_HEAD = """# Evidence: the ants in the simulator

Made by `python -m services.lab.evidence` from the result files beside it (`docs/evidence/*.json`), each written by the
command above its table. How the paper's evaluation is read is in
[decision 0047](decisions/0047-reading-the-papers-evaluation.md). Low and high are a 95 % confidence interval over seeds
for a mean, the smallest and largest otherwise; with few seeds (each command says how many) the interval is wide and
the figure preliminary. Whether a target is met is told by comparing the row with it; where none is named there is
none. "paper's rules" is the parameter set `PAPER`, the letter of the paper.
"""


def page(folder: Path) -> str:
    """The whole page."""
    parts = [_HEAD]
    for name, experiment in EXPERIMENTS.items():
        file = folder / f"{name.replace('/', '-')}.json"
        parts.append(f"## {name}\n\n{experiment.question}\n\nThe paper: {experiment.paper}.\n")
        if experiment.reading:
            parts.append(f"{experiment.reading}.\n")
        if not file.exists():
            parts.append(f"Not run yet on a quiet machine: `stigmergy evaluate {name}`\n")
            continue
        found = read(file)
        if experiment.targets:
            judged = [f"- {verdict(target, found.rows)}" for target in experiment.targets]
            parts.append("\n".join(["Targets:\n", *judged, ""]))
        parts.append(_table(found))
        plot = file.with_suffix(".png")
        if plot.exists():
            parts.append(f"![{name}]({folder.name}/{plot.name})\n")
    return "\n".join(parts)


def _table(found: Results) -> str:
    head = f"`{found.command}`" + (f", at commit `{found.commit}`" if found.commit else "")
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
