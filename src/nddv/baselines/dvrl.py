"""DVRL: a network that chooses training points learns from what the chosen points are worth."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, relu

from nddv.baselines.networks import perceptron
from nddv.support.settings import Count, NotNegative, Positive, checked, number
from nddv.values import Values


@checked
def dvrl(
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    X_valid: NDArray[np.floating],
    y_valid: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    rl_epochs: Count = 2000,
    batch_size: Count = 32,
    learning_rate: Positive = 0.01,
    hidden: Count = 100,
    layers: Count = 4,
    combined: Count = 10,
    threshold: Annotated[float, number(above=0.5, below=1)] = 0.9,
    exploration: NotNegative = 1000.0,
    C: Positive = 1.0,
) -> Values:
    """Data valuation using reinforcement learning (Yoon, Arik and Pfister 2020, ICML).

    A network gives each point a probability p_i of being chosen. From a random batch B, points are
    chosen, s_i ~ Bernoulli(p_i), and a logistic regression is fitted to them; with r its validation
    accuracy minus that of the fit to all points, the network makes a step of Adam (REINFORCE) on
    −r·Σ_{i∈B} log P(s_i) + exploration·[(p̄ − threshold)₊ + (1 − threshold − p̄)₊], p̄ being the mean
    probability of the batch. The value of a point is its probability in the end. Reward and bounds
    are those of the authors' code and of OpenDataVal.

    Parameters
    ----------
    X, y : (n, d) features and (n,) classes 0, 1, ...
    X_valid, y_valid : (m, d) and (m,) validation points.
    rl_epochs : steps; OpenDataVal makes 1,000.
    batch_size : points that are chosen from in a step.
    learning_rate : of Adam.
    hidden : width of the layers that see features and class; see :class:`Chooser`.
    layers : number of these.
    combined : width of the layer that sees the surprise too.
    threshold : mean probability of a batch beyond which the penalty begins.
    exploration : weight of the penalty on choosing all or nothing.
    C : inverse strength of the L2 penalty of the logistic regressions.
    """
    indicators = np.eye(int(max(y.max(), y_valid.max())) + 1)
    of_valid = _predictor(X_valid, y_valid, C)
    surprise = np.abs(indicators[y] - of_valid.predict_proba(X) @ indicators[of_valid.classes_])
    points = np.column_stack([X, indicators[y]])
    chooser = Chooser(points, surprise, hidden, layers, combined, rng)
    optimizer = torch.optim.Adam(chooser.parameters(), lr=learning_rate)
    everyone = float(_predictor(X, y, C).score(X_valid, y_valid))
    for _ in range(rl_epochs):
        batch = rng.choice(len(X), min(batch_size, len(X)), replace=False)
        logits = chooser(batch)
        chosen = rng.random(len(batch)) < torch.sigmoid(logits).detach().numpy()
        members = batch[chosen]
        # Nothing is learned from an empty choice, but for the bounds of the mean probability.
        reward = 0.0
        if len(members):
            own, other = inside_span(X[members], X_valid)
            reward = _predictor(own, y[members], C).score(other, y_valid) - everyone
        optimizer.zero_grad()
        loss = policy_loss(logits, torch.as_tensor(chosen), reward)
        loss = loss + exploration * excess(torch.sigmoid(logits).mean(), threshold)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        # In double precision, where fewer of the large logits become a probability of 1.
        values = torch.sigmoid(chooser(np.arange(len(X))).double()).numpy()
    return Values(values, record={"fits": rl_epochs + 2, "accuracy_all": everyone})


def inside_span(
    X: NDArray[np.floating], others: NDArray[np.floating]
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Coordinates of both (s, d) and (m, d) in the span of the first, if it has fewer than d axes.

    A penalised fit to the first has its coefficients there: it predicts the same, at less cost.
    """
    if len(X) >= X.shape[1]:
        return X, others
    basis = np.linalg.qr(X.T)[0]
    return X @ basis, others @ basis


def policy_loss(logits: Tensor, chosen: Tensor, reward: float) -> Tensor:
    """−reward·log P(chosen): its expected gradient is minus that of the expected reward."""
    return reward * binary_cross_entropy_with_logits(logits, chosen.to(logits), reduction="sum")


def excess(mean: Tensor, threshold: float) -> Tensor:
    """How far a mean probability is outside of [1 − threshold, threshold]."""
    return relu(mean - threshold) + relu(1 - threshold - mean)


class Chooser(nn.Module):
    """Logits of being chosen.

    A perceptron of ``layers`` linear layers of width ``hidden`` takes features and class indicators
    to ``combined`` numbers; a second one takes these and the surprise at the class to a logit.

    Parameters
    ----------
    points : (n, d + classes) features and class indicators.
    surprise : (n, classes) differences between the class indicators and the probabilities that a
        model of the validation points gives.
    """

    def __init__(
        self,
        points: NDArray[np.floating],
        surprise: NDArray[np.floating],
        hidden: int,
        layers: int,
        combined: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__()
        self.points = torch.as_tensor(points, dtype=torch.float32)
        self.surprise = torch.as_tensor(surprise, dtype=torch.float32)
        self.first = perceptron([points.shape[1], *[hidden] * (layers - 1), combined], rng)
        self.second = perceptron([combined + surprise.shape[1], combined, 1], rng)

    def forward(self, rows: NDArray[np.intp]) -> Tensor:
        """Logits (b,) of some points."""
        between = relu(self.first(self.points[rows]))
        return self.second(torch.cat([between, self.surprise[rows]], dim=1))[:, 0]


def _predictor(
    X: NDArray[np.floating], y: NDArray[np.int64], C: float
) -> LogisticRegression | DummyClassifier:
    """Logistic regression, or the constant where there is one class only."""
    model = LogisticRegression(C=C, max_iter=1000) if np.ptp(y) > 0 else DummyClassifier()
    return model.fit(X, y)
