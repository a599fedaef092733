"""The multilayer perceptron of the baselines that train one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import nn


def perceptron(widths: Sequence[int], rng: np.random.Generator) -> nn.Sequential:
    """Linear layers from width to width with rectifiers between, initialised as torch does."""
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**63)))
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
