"""Baselines that need no coalition retraining.

- ``knn_shapley``: the exact Shapley value of the K-nearest-neighbour utility.
- ``small_loss``: how well an ordinary logistic regression fits a point it was trained on.
- ``random_values``: no information at all; the chance line, measured.
"""

from nddv.baselines.chance import random_values
from nddv.baselines.loss import small_loss
from nddv.baselines.neighbours import knn_shapley

__all__ = ["knn_shapley", "random_values", "small_loss"]
