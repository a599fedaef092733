"""Stationarity of the meta update (Proposition first_order_meta_reweighting_stationarity)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.func import grad, grad_and_value, jvp, vmap

from nddv.audit.stability.setting import LOSS, PATHS, fitted_run, normal, with_slopes
from nddv.dynamics.adjoint import Batch
from nddv.dynamics.reweighting import MetaProblem
from nddv.replay.seeds import generator

POINTS, EPOCHS = 64, 2  # one batch; trained long enough for the signals to tell points apart
PILOT_STEPS, POWER_STEPS = 300, 20
NOISE, POWER, GRADIENT_NOISE = range(3)  # addresses of draws

# what is added to the gradient: bias or not, noise or not
INJECTED = {
    "exact": (False, False),
    "noise": (False, True),
    "bias": (True, False),
    "bias and noise": (True, True),
}
FROZEN = "frozen adjoint"


@dataclass(frozen=True)
class Surrogate:
    """J(z) = ℓ_meta(ψ) + λ[g(θ, ψ) − g(θ, ψ̂)], z = (θ, ψ) (Eq. first_order_surrogate_appendix).

    One outer stage: ψ̂ = `hat`, the batches, their noise and the meta points' aggregate stay fixed.
    """

    problem: MetaProblem
    theta: Tensor
    hat: Tensor
    aggregates: list[Tensor]
    penalty: float

    @property
    def start(self) -> Tensor:
        """z⁰ = (θ, ψ) of the stage."""
        return torch.cat([self.theta, self.problem.flat])

    def split(self, z: Tensor) -> tuple[Tensor, Tensor]:
        return z[: len(self.theta)], z[len(self.theta) :]

    def __call__(self, z: Tensor) -> Tensor:
        theta, psi = self.split(z)
        gap = self.problem.objective(theta, psi) - self.problem.objective(theta, self.hat)
        return self.problem.meta_loss(psi, self.aggregates) + self.penalty * gap

    def frozen_gradient(self, z: Tensor, exact: Tensor) -> Tensor:
        """∇J at z, with ∇_ψ g from the adjoint of training, which freezes the aggregate.

        exact: ∇J(z), whose θ part is kept.
        """
        theta, psi = self.split(z)
        outer = grad(self.problem.meta_loss)(psi, self.aggregates)
        inner = replace(self.problem, flat=psi).inner(theta).gradient
        return torch.cat([self.split(exact)[0], outer + self.penalty * inner])


def stationarity(
    seed: int = 100,
    steps: Sequence[int] = (10, 30, 100, 300, 1000),
    bias: float = 0.3,
    noise: float = 3.0,
    penalty: float = 10.0,
    full_rate_steps: int = 100,
    repetitions: int = 4,
) -> pd.DataFrame:
    """Squared gradient norms along K steps of the meta update, against the proposition's bound.

    One outer stage, as in the proposition: plain gradient steps on z = (θ, ψ) jointly, not the
    alternating training with its optimisers. The flow has the open-loop control of Eq. lq_drift.
    The rate is η = min{1/(4L), c/√K} with c so that both agree at K = `full_rate_steps`.

    The gradients are "exact"; with a "bias" of norm β against the gradient (the worst direction:
    steps stall where ‖∇J‖ = β); with Gaussian "noise", E‖ξ‖² = σ_G²; and with both. "frozen
    adjoint" is the gradient as training computes it, along a frozen aggregate: its bias is not
    added but measured (Corollary nddv_gradient_bias).

    L is the largest curvature along a pilot path, which goes further down than the others. J_inf is
    the smallest J of any path. These estimates make `bound` too small rather than too large.

    Parameters
    ----------
    seed : of the points, the stage and the noise.
    steps : values of K; each is a separate run, since η depends on K.
    bias, noise : β and σ_G as multiples of ‖∇J(z⁰)‖.
    penalty : λ.
    full_rate_steps : see above.
    repetitions : of the gradients with noise.

    Returns
    -------
    One row per gradient, K and repetition:
        gradient : see above. steps, repetition, rate : K; number; η.
        mean_square, least_square : mean and minimum over k < K of ‖∇J(z^k)‖².
        start_square : ‖∇J(z⁰)‖².
        bias_square, noise_square : β̄²_K and σ_G².
        bound : right side of Eq. biased_stationarity_bound, for mean_square.
        floor : 4β̄²_K, the part of the bound that remains for large K.
        slope, slope_stderr : of log mean_square against log K, one fit for each gradient.
    """
    objective = surrogate(seed, penalty)
    start = objective.start
    first, value = grad_and_value(objective)(start)
    size = float(first.norm())
    curvature = _largest_curvature(objective, generator(seed, PATHS, POWER))
    chains = [
        (name, k, biased * bias * size, noisy * noise * size)
        for name, (biased, noisy) in INJECTED.items()
        for k in range(repetitions if noisy else 1)
    ]
    chains.append((FROZEN, 0, 0.0, 0.0))
    beta, sigma = (
        torch.tensor([[chain[c]] for chain in chains], dtype=start.dtype) for c in (2, 3)
    )
    rows, least = [], float(value)
    for count in steps:
        rate = min(1.0, (full_rate_steps / count) ** 0.5) / (4 * curvature)
        draws = generator(seed, PATHS, GRADIENT_NOISE, count)
        squares, biases, lowest = _descend(objective, count, rate, beta, sigma, draws)
        least = min(least, lowest)
        rows += [
            {
                "gradient": name,
                "steps": count,
                "repetition": k,
                "rate": rate,
                "mean_square": float(squares[:, c].mean()),
                "least_square": float(squares[:, c].min()),
                "start_square": size**2,
                "bias_square": float(biases[:, c].mean()),
                "noise_square": sd**2,
            }
            for c, (name, k, _, sd) in enumerate(chains)
        ]
    frame = pd.DataFrame(rows)
    descent = 2 * (float(value) - least) / (frame["steps"] * frame["rate"])
    frame["floor"] = 4 * frame["bias_square"]
    frame["bound"] = descent + frame["floor"] + curvature * frame["noise_square"] * frame["rate"]
    return with_slopes(frame, "gradient", "steps", "mean_square")


def surrogate(seed: int, penalty: float) -> Surrogate:
    """The stage after two epochs of training, on one batch of training and of meta points."""
    # a step an epoch: the usual decay, that of a whole run, would undo what two steps learn
    changes = {"epochs": EPOCHS, "control": "open_loop", "weight_decay": 0.1 * EPOCHS}
    run = fitted_run(seed, POINTS, **changes)
    flow, data, training = run.flow, run.data, run.training
    assert data.meta_rows is not None  # which `fitted_run` has drawn
    assert data.meta_y is not None
    draws = generator(seed, PATHS, NOISE)
    states = run.flat.new_empty(POINTS, flow.width)
    train, meta = (
        Batch(rows.take(slice(POINTS)), y[:POINTS], normal(states, draws, flow.steps))
        for rows, y in ((data.rows, data.y), (data.meta_rows, data.meta_y))
    )
    fitted = (flow, run.weight_map, run.flat, train, run.signals, meta)
    settings = (training.learning_rate, training.clip, LOSS, training.pairing)
    problem = MetaProblem(*fitted, *settings)
    inner = problem.inner(run.theta)
    hat, aggregates = problem.ahead(inner.gradient), inner.path.aggregates
    return Surrogate(problem, run.theta, hat, aggregates, penalty)


def _descend(
    objective: Surrogate,
    steps: int,
    rate: float,
    beta: Tensor,
    sigma: Tensor,
    draws: torch.Generator,
) -> tuple[Tensor, Tensor, float]:
    """Chains z^{k+1} = z^k − η(∇J + bias + noise), side by side; the last has the frozen adjoint.

    beta, sigma: (R, 1) norms of bias and noise. Returns ‖∇J‖² and ‖bias‖², (K, R) each, and the
    smallest J of all.
    """
    evaluate = vmap(grad_and_value(objective))
    z = objective.start.repeat(len(beta), 1)
    squares, bias_squares, least = [], [], np.inf
    for _ in range(steps):
        gradient, value = evaluate(z)
        norm = gradient.norm(dim=1, keepdim=True)
        bias = -beta * gradient / norm
        bias[-1] = objective.frozen_gradient(z[-1], gradient[-1]) - gradient[-1]
        squares.append(norm.squeeze(1).square())
        bias_squares.append(bias.square().sum(1))
        least = min(least, float(value.min()))
        noise = torch.randn(z.shape, generator=draws, dtype=z.dtype) / z.shape[1] ** 0.5
        z = z - rate * (gradient + bias + sigma * noise)
    return torch.stack(squares), torch.stack(bias_squares), least


def _largest_curvature(objective: Surrogate, draws: torch.Generator) -> float:
    """The largest curvature at the start and after each third of a pilot descent."""
    z = objective.start
    curvatures = [curvature(objective, z, draws)]
    for k in range(1, PILOT_STEPS + 1):
        z = z - grad(objective)(z) / (4 * curvatures[0])
        if k % (PILOT_STEPS // 3) == 0:
            curvatures.append(curvature(objective, z, draws))
    return max(curvatures)


def curvature(objective: Surrogate, z: Tensor, draws: torch.Generator) -> float:
    """Largest |eigenvalue| of the Hessian of J at z, from below, by power iteration."""
    direction = torch.randn(len(z), generator=draws, dtype=z.dtype)
    for _ in range(POWER_STEPS):
        direction = direction / direction.norm()
        direction = jvp(grad(objective), (z,), (direction,))[1]
    return float(direction.norm())
