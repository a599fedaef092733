"""Figures of what happens inside one NDDV run, drawn from its own trajectories.

The frames are those of `nddv.anatomy.trajectories`, each under its name there. Bands are over
the points of one run, except where a legend says seeds.
"""

from nddv.reporting.trajectories.overview import overview
from nddv.reporting.trajectories.states import state_dynamics
from nddv.reporting.trajectories.values import layer_epoch_values, valuation_process

__all__ = ["layer_epoch_values", "overview", "state_dynamics", "valuation_process"]
