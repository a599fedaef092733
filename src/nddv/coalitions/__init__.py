"""Coalitions of training points: predictors fitted to them, and their utilities.

- :func:`fit_coalitions` and :class:`Engine`: logistic regressions of many coalitions at once.
- :func:`predict_proba_many`: class probabilities of many fits.
- :class:`Game`: anything that gives utilities of coalitions. :class:`LogisticGame` is the game of
  the downstream logistic regression.
- :func:`walk_prefixes`: utilities along orders of the points, for any game.
- :mod:`~nddv.coalitions.levels`: semi-values from a few weighted fits, one for each share of
  coalitions; :mod:`~nddv.coalitions.fields` has the weights.
- :mod:`~nddv.coalitions.contexts`: marginals of all points at a coalition, from its one fit; and
  :mod:`~nddv.coalitions.sampling`: semi-values from them, with standard errors.
"""

from nddv.coalitions.engine import Engine, fit_coalitions
from nddv.coalitions.fits import Fits
from nddv.coalitions.game import Game, walk_prefixes
from nddv.coalitions.logistic import LogisticGame
from nddv.coalitions.measures import FLOOR
from nddv.coalitions.predict import predict_proba_many

__all__ = [
    "FLOOR",
    "Engine",
    "Fits",
    "Game",
    "LogisticGame",
    "fit_coalitions",
    "predict_proba_many",
    "walk_prefixes",
]
