"""Placing queries with ants in the simulator, as experiments do it."""

from collections.abc import Sequence
from dataclasses import replace

from placement.ants.params import IMPROVED, PAPER, AntParams
from placement.leader_params import IMPROVED_LEADER, PAPER_LEADER, LeaderParams
from placement.model import Flow, Network
from placement.queueing import Load
from placement.simulator.body import Body
from services.lab.chance import seeded

RULES: dict[str, tuple[AntParams, LeaderParams]] = {
    "ants": (IMPROVED, IMPROVED_LEADER),
    "paper": (PAPER, PAPER_LEADER),
}

PLACING_LIMIT_MS = 120_000.0


def still(leaders: LeaderParams) -> LeaderParams:
    """Leaders that place and then rest: quality of placement without self-optimisation."""
    return replace(leaders, watch=False)


def place_alone(
    network: Network,
    flow: Flow,
    background: Sequence[Load],
    *,
    ants: AntParams,
    leaders: LeaderParams,
    seed: int | str,
    wires: Sequence[Load] = (),
) -> Body:
    """Place one query on a loaded network; the body tells the rest."""
    body = Body(
        network,
        chance=seeded(seed),
        ants=ants,
        leaders=still(leaders),
        background=background,
        wire_background=wires,
    )
    body.acquaint()
    body.submit(flow)
    body.run_until_settled(limit_ms=PLACING_LIMIT_MS)
    return body
