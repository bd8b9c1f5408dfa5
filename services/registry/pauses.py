"""What moves have cost so far, and what the next one is expected to cost, by the same model as the service's."""

from placement.moves import PauseModel
from services.registry.view import RegistryView


def predicted_pause_ms(view: RegistryView) -> float:
    """For a partition whose standby is warm, whichever hosts it moves between, from the moves that are remembered."""
    model = PauseModel()
    for move in sorted(view.moves.values(), key=lambda each: each.since_ms):
        if move.phase == "done" and move.actual_pause_ms is not None and move.trouble is None:
            model = model.learn(move.actual_pause_ms, move.origin, move.target, unread_changes=0)
    return model.predict(None, None, unread_changes=0)
