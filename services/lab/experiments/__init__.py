"""The experiments that `stigmergy evaluate` knows: the ants paper's figures and table, and what goes beyond it."""

from services.lab.experiments.ablation import ABLATION
from services.lab.experiments.bursty import BURSTY
from services.lab.experiments.centralised import CENTRALISED
from services.lab.experiments.execution import EXECUTION
from services.lab.experiments.experiment import Experiment, Trial
from services.lab.experiments.fault_recovery import FAULTS
from services.lab.experiments.forecasts import FORECASTS
from services.lab.experiments.hot_spots import HOT_SPOTS
from services.lab.experiments.hot_spots_live import HOT_SPOTS_LIVE
from services.lab.experiments.many_queries import FIG_2B
from services.lab.experiments.quality import FIG_2A, LINKS, REAL_QUALITY
from services.lab.experiments.queueing import QUEUEING
from services.lab.experiments.scale import FIG_4
from services.lab.experiments.self_optimisation import FIG_3A, FIG_3B
from services.lab.experiments.speed import SPEED
from services.lab.experiments.synergy_alleviation import ALLEVIATION
from services.lab.experiments.synergy_prediction import PREDICTION
from services.lab.experiments.thresholds import TABLE_1

_PAPER = (FIG_2A, FIG_2B, FIG_3A, FIG_3B, TABLE_1, FIG_4)
_BEYOND = (REAL_QUALITY, LINKS, BURSTY, FAULTS, ABLATION)
_MODELS = (QUEUEING, FORECASTS, HOT_SPOTS, HOT_SPOTS_LIVE, EXECUTION)
_TOOLS = (CENTRALISED, SPEED)

EXPERIMENTS: dict[str, Experiment] = {
    each.name: each for each in (*_PAPER, *_BEYOND, *_MODELS, *PREDICTION, *ALLEVIATION, *_TOOLS)
}

__all__ = ["EXPERIMENTS", "Experiment", "Trial"]
