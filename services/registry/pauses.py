"""What moves have cost so far, and what the next one is expected to cost, by the same model as the service's."""

from placement.moves import PauseModel
from services.registry.view import RegistryView


def predicted_pause_ms(view: RegistryView) -> float:
    """For a partition whose standby is warm, from the moves that the registry remembers."""
    model = PauseModel()
    for move in sorted(view.moves.values(), key=lambda each: each.since_ms):
        if move.phase == "done" and move.actual_pause_ms is not None and move.trouble is None:
            model = model.learn(move.actual_pause_ms, unread_changes=0, waiting_records=0)
    return model.predict(unread_changes=0, waiting_records=0)
