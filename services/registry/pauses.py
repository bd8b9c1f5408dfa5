"""What moves have cost so far, and what the next one is expected to cost, by the same model as the service's."""

from placement.moves import PauseModel
from services.registry.view import RegistryView
from topics.messages import MoveRecord


def pause_model(view: RegistryView) -> PauseModel:
    """What the newest moves have taught: those that went as they should, and tell how much was left to read."""
    model = PauseModel()
    lessons = sorted((move for move in view.moves.values() if _teaches(move)), key=lambda each: each.since_ms)
    for move in lessons[-model.params.remembered :]:
        assert move.actual_pause_ms is not None, move
        model = model.learn(
            move.actual_pause_ms, move.segment, move.origin, move.target, unread_changes=move.unread_changes or 0
        )
    return model


def _teaches(move: MoveRecord) -> bool:
    known = move.actual_pause_ms is not None and move.unread_changes is not None
    return known and move.phase == "done" and move.trouble is None


def predicted_pause_ms(view: RegistryView) -> float:
    """For a partition whose standby is warm, whichever it is and wherever it goes."""
    return pause_model(view).predict(None, None, None, unread_changes=0)
