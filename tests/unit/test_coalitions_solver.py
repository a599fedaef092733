"""Which method minimises: Newton's where regressions have few parameters."""

from __future__ import annotations

import pytest
import torch

from nddv.coalitions.solver import Solver


@pytest.mark.parametrize(
    ("n_classes", "n", "d", "few"),
    [
        *((2, 100, 39, True), (2, 100, 40, False)),
        *((3, 100, 19, True), (3, 100, 20, False)),
        *((2, 39, 100, True), (2, 40, 100, False)),  # the span of the points counts
    ],
)
def test_newton_minimises_where_parameters_are_few(n_classes, n, d, few):
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(100), dtype=torch.float64)
    solver = Solver(X, torch.arange(n) % n_classes, n_classes, 1.0, torch.float64)
    assert solver.few is few
