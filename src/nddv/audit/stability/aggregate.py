"""Error of a frozen aggregate of N points (Proposition frozen_mean_field_stability)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor

from nddv.audit.stability.setting import (
    LOSS,
    PATHS,
    POPULATION,
    PROBE,
    REFERENCE,
    draw,
    fitted_run,
    normal,
    with_slopes,
)
from nddv.dynamics.adjoint import backward
from nddv.dynamics.costs import terminal
from nddv.dynamics.flow import rollout
from nddv.dynamics.population import encode, population_path
from nddv.replay.seeds import derive, generator

POINTS = 300  # to which the flow is fitted


def _along_paths(gap: Tensor) -> Tensor:
    """Root mean square over the probes of the largest distance along the path, of (S, P, W)."""
    return gap.norm(dim=2).amax(0).square().mean().sqrt()


MEASURES = {
    "aggregate": lambda gap: gap.norm(dim=1).max(),
    "state": _along_paths,
    "co-state": _along_paths,
    "score": lambda gap: gap.abs().mean(),
}


def frozen_aggregate(
    seed: int = 100,
    sizes: Sequence[int] = (50, 100, 200, 500, 1000, 2000, 5000),
    reference: int = 200_000,
    repetitions: int = 100,
    probes: int = 200,
) -> pd.DataFrame:
    """Errors along the aggregate of N points, against the aggregate of a very large population.

    The weights are fixed, v = 1, in the fit and in every population: for learned weights, which
    depend on the data, the proposition states no rate. Every population has new points and moves
    alone. Its aggregate path then drives the same probe points, with the same noise. In this model
    Φ does not depend on μ, so the terminal score has no law-derivative term. Both co-states that
    are compared freeze the aggregate, so Γ_law is not measured, and the rate is that of η_μ,
    N^{−1/2}.

    Parameters
    ----------
    seed : of the points, the fit and the noise.
    sizes : values of N.
    reference : size of the population that stands for the limit.
    repetitions : independent populations of each size.
    probes : number of points on which errors are measured.

    Returns
    -------
    One row per quantity, N and repetition:
        quantity : "aggregate" (sup_s ‖μ*_s − μ̄_s‖), "state" and "co-state" (root mean square over
            the probes of sup_s ‖X*_s − X̄_s‖, sup_s ‖Y*_s − Ȳ_s‖), "score" (mean |X*·Y* − X̄·Ȳ| at
            time T).
        n, repetition, error.
        slope, slope_stderr : of log error against log N, one fit for each quantity.
    """
    run = fitted_run(seed, POINTS, reweighting="none")
    x, y = draw(probes, derive(seed, PROBE))
    flow, params, rows = run.flow, run.flow.unpack(run.flat), run.data.rows
    x0 = encode(flow, params.encoder, rows.like(x))
    noise = normal(x0, generator(seed, PATHS), flow.steps)

    def driven(count: int, *address: int) -> dict[str, Tensor]:
        """What the probes do along the aggregate path of new points; times come first."""
        own = derive(seed, *address)
        moving = rows.like(draw(count, own)[0])
        aggregates = population_path(flow, params, moving, own, lambda s, x: x.mean(0))[1]
        path = rollout(flow, params.controls, x0, noise, aggregates=aggregates)
        end = terminal(params.head, path.states[-1], y, LOSS)
        costates = backward(flow, params.controls, path, -end.gradients).costates
        return {
            "aggregate": torch.stack(aggregates),
            "state": torch.stack(path.states),
            "co-state": torch.stack(costates),
            "score": (path.states[-1] * costates[-1]).sum(1),
        }

    limit = driven(reference, REFERENCE)
    errors = [
        {"quantity": name, "n": n, "repetition": k, "error": float(MEASURES[name](limit[name] - x))}
        for n in sizes
        for k in range(repetitions)
        for name, x in driven(n, POPULATION, n, k).items()
    ]
    return with_slopes(pd.DataFrame(errors), "quantity", "n", "error")
