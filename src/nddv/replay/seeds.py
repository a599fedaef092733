"""Random draws addressed by (seed, use, position): any part of a run can be replayed alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

_MEMBER = 100  # beyond the addresses of a run's draws


def derive(seed: int, *address: int) -> int:
    """A seed for one use of a run's randomness (torch's CPU generator reads its low 32 bits)."""
    state = np.random.SeedSequence([seed, *address]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def member_seed(seed: int, member: int) -> int:
    """The seed of a member of a model; the first has the model's own."""
    return derive(seed, _MEMBER, member) if member else seed


def generator(seed: int, *address: int) -> torch.Generator:
    """A generator for one use of a run's randomness."""
    return torch.Generator().manual_seed(derive(seed, *address))


def normal(
    seed: int, position: int, shape: Sequence[int], dtype: torch.dtype, device: torch.device
) -> Tensor:
    """Standard normal draws, made on the CPU so that every device sees the same noise."""
    source = NormalSource(seed, position, dtype, device)
    return source.draw(shape)


class NormalSource:
    """The draws of `normal`, piece by piece.

    Pieces of a multiple of 16 numbers give what one draw gives (torch makes 16 at a time); the
    last piece may have any length from 16 on.
    """

    def __init__(self, seed: int, position: int, dtype: torch.dtype, device: torch.device):
        address = (seed + 0x9E3779B97F4A7C15 * (position + 1)) % 2**63
        self.source = torch.Generator().manual_seed(address)
        self.dtype, self.device = dtype, device

    def draw(self, shape: Sequence[int]) -> Tensor:
        """The next numbers."""
        return torch.randn(tuple(shape), generator=self.source, dtype=self.dtype).to(self.device)
