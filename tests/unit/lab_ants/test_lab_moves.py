"""What counts as a move: a flow that ran goes elsewhere."""

from placement.leader_events import Published
from placement.model import Placement, Plan
from services.lab.experiments.self_optimisation import is_move

HERE = Placement.of({("f", "a"): "x"})


def test_a_first_placement_is_no_move_even_if_earlier_plans_were_refused() -> None:
    """Epochs count refused plans too: at a hundred leaders at once many flows first run with epoch 2 or later."""
    assert not is_move(Published(Plan.between("f", 3, Placement(), HERE), 10.0, "the flow is new"))


def test_a_flow_that_goes_elsewhere_moves() -> None:
    assert is_move(Published(Plan.between("f", 2, HERE, Placement.of({("f", "a"): "y"})), 9.0, "a better place"))
