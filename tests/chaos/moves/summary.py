"""The matrix as far as it was played: which cells are good, and what all of them together show."""

from collections import Counter
from dataclasses import dataclass, field

from tests.chaos.moves.matrix import HURTS, PHASES, VICTIMS
from tests.chaos.moves.run import CellOutcome
from tests.chaos.summary import damage

NOT_PLAYED = "."


@dataclass
class Summary:
    """Add outcomes; `text` says how it stands, also half-way."""

    outcomes: list[CellOutcome] = field(default_factory=list)

    def add(self, outcome: CellOutcome) -> None:
        self.outcomes.append(outcome)

    @property
    def bad(self) -> list[CellOutcome]:
        return [each for each in self.outcomes if not each.verdict.is_good]

    @property
    def text(self) -> str:
        verdicts = [each.verdict for each in self.outcomes]
        ends = sum((each.ends for each in self.outcomes), Counter[str]())
        flows = Counter(f"{each.cell.case.name} {each.cell.delivery}" for each in self.outcomes)
        slowest = max(self.outcomes, key=lambda each: each.rest_s, default=None)
        rows = {
            "cells": f"{len(self.outcomes)} in {sum(each.took_s for each in self.outcomes):.0f} s, {len(self.bad)} bad",
            "flows": ", ".join(f"{name} {count}" for name, count in sorted(flows.items())),
            "records fed": sum(len(each.cell.scenario.fed) for each in self.outcomes),
            "results": sum(each.results for each in verdicts),
            "moves": ", ".join(f"{count} {end}" for end, count in ends.most_common()),
            **damage(verdicts),
            "longest way to rest": f"{slowest.rest_s:.1f} s ({slowest.cell})" if slowest else "none",
        }
        if self.bad:
            rows["bad cells"] = "; ".join(str(each.cell) for each in self.bad)
        return "\n".join([self._matrix, "", *(f"{name}: {value}" for name, value in rows.items())])

    @property
    def _matrix(self) -> str:
        """A row a phase, a column a victim; in it a letter for each hurt: small if good, large if not."""
        played = {(each.cell.phase, each.cell.victim, each.cell.hurt): each.verdict.is_good for each in self.outcomes}

        def mark(phase: str, victim: str, hurt: str) -> str:
            good = played.get((phase, victim, hurt))
            return NOT_PLAYED if good is None else hurt[0] if good else hurt[0].upper()

        head = f"{'(' + ', '.join(f'{hurt[0]}: {hurt}' for hurt in HURTS) + ')':28}" + "".join(
            f"{victim:>8}" for victim in VICTIMS
        )
        rows = [
            f"{phase:28}" + "".join(f"{''.join(mark(phase, victim, hurt) for hurt in HURTS):>8}" for victim in VICTIMS)
            for phase in PHASES
        ]
        return "\n".join([head, *rows])
