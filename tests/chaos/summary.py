"""Many runs summed up: what was done to the hosts, and what came of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.chaos.run import Outcome
from tests.chaos.verdict import Verdict


def damage(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """What must be 0 in all."""
    return {
        "lost": sum(each.lost for each in verdicts),
        "duplicated": sum(each.duplicated for each in verdicts),
        "wrong": sum(each.wrong for each in verdicts),
        "out of order": sum(each.disordered for each in verdicts),
        "state differences": sum(each.state_differences for each in verdicts),
        "dead letters and late records missing or too many": sum(each.set_aside_differences for each in verdicts),
    }


@dataclass
class Summary:
    """Add outcomes; `text` says how it stands, also half-way."""

    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    @property
    def bad(self) -> list[Outcome]:
        return [each for each in self.outcomes if not each.verdict.is_good]

    @property
    def text(self) -> str:
        verdicts = [each.verdict for each in self.outcomes]
        faults = Counter(fault.kind for each in self.outcomes for fault in each.scenario.faults)
        flows = Counter(f"{each.scenario.case.name} {each.scenario.delivery}" for each in self.outcomes)
        longest = max(self.outcomes, key=lambda each: each.verdict.gap_s, default=None)
        rows = {
            "runs": f"{len(self.outcomes)} in {sum(each.took_s for each in self.outcomes):.0f} s, {len(self.bad)} bad",
            "flows": ", ".join(f"{name} {count}" for name, count in sorted(flows.items())),
            "records fed": sum(len(each.scenario.fed) for each in self.outcomes),
            "results": sum(each.results for each in verdicts),
            "faults": f"{faults.total()}: " + ", ".join(f"{kind} {count}" for kind, count in faults.most_common()),
            **damage(verdicts),
            "repeated, for readers of uncommitted records": sum(each.repeated for each in verdicts),
            "longest gap": f"{longest.verdict.gap_s:.1f} s (seed {longest.scenario.seed})" if longest else "none",
        }
        if self.bad:
            rows["bad seeds"] = ", ".join(str(each.scenario.seed) for each in self.bad)
        return "\n".join(f"{name}: {value}" for name, value in rows.items())
