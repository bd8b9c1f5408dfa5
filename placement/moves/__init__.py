"""Moves: one partition of one segment goes from one host to another without losing anything, or comes back.

`move` is what a move is, `phases` the state machine that carries it to its end, `pause` predicts how long nobody works
on the partition, `schedule` decides which of the proposed moves may begin. All pure: facts in, effects out.
"""

from placement.moves.facts import Facts, Told
from placement.moves.move import ENDED, Effect, FollowAtTarget, GiveBack, HandOver, Move, Phase, Release, SkipDrain
from placement.moves.pause import PauseModel, PauseParams
from placement.moves.phases import MoveParams, advance, begun
from placement.moves.schedule import Allowance, Forecast, ScheduleParams, Verdict, is_too_dear, schedule, spent

__all__ = [
    "ENDED",
    "Allowance",
    "Effect",
    "Facts",
    "FollowAtTarget",
    "Forecast",
    "GiveBack",
    "HandOver",
    "Move",
    "MoveParams",
    "PauseModel",
    "PauseParams",
    "Phase",
    "Release",
    "ScheduleParams",
    "SkipDrain",
    "Told",
    "Verdict",
    "advance",
    "begun",
    "is_too_dear",
    "schedule",
    "spent",
]
