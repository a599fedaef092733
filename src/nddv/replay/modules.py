"""Any torch module as a program that can be repeated: its parameters as one vector, its losses.

The gradient of a step is ∇ (1/B) Σ w_i ℓ_i(θ) over the batch. It can be differentiated again by θ
and by w. Dropout and other noise are drawn from a seed that the step has, so that every repetition
of a step sees the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from nddv.replay.bags import DifferentiableBags
from nddv.replay.optimizers import Optimizer
from nddv.replay.points import Points
from nddv.replay.seeds import derive, generator

ORDER, NOISE, FINAL = range(3)  # addresses of the random draws of a run

Loss = Callable[[Tensor, Tensor], Tensor]
"""Outputs and targets of B points -> their losses (B,)."""


def check_classes(outputs: Tensor, y: Tensor) -> None:
    """Raise for targets that are no classes of outputs (B, C)."""
    if outputs.ndim != 2:
        raise ValueError(
            f"cross_entropy needs outputs (B, classes), but the module gives {tuple(outputs.shape)}"
        )
    if y.is_floating_point() or y.ndim != 1:
        raise ValueError(
            f"cross_entropy needs class indices, one a point, but the targets are {y.dtype} of the "
            f'shape {tuple(y.shape)}: use loss="squared_error" for real numbers'
        )
    if not 0 <= int(y.min()) <= int(y.max()) < outputs.shape[1]:
        raise ValueError(
            f"labels go from {int(y.min())} to {int(y.max())}, but the module has "
            f"{outputs.shape[1]} outputs: they must be 0 to {outputs.shape[1] - 1}"
        )


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    """Minus the log-probability of each class index, (B,), of logits (B, C)."""
    check_classes(outputs, y)
    return F.cross_entropy(outputs, y, reduction="none")


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """Half the squared distance of outputs from targets, (B,)."""
    error = outputs.reshape(len(y), -1) - y.reshape(len(y), -1)
    return 0.5 * error.square().sum(1)


LOSSES: dict[str, Loss] = {"cross_entropy": cross_entropy, "squared_error": squared_error}


class Parameters:
    """The parameters of a module that are trained, as one vector (P,)."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        trained = {k: p for k, p in module.named_parameters() if p.requires_grad}
        self.shapes = {name: p.shape for name, p in trained.items()}
        self.sizes = [p.numel() for p in trained.values()]
        self.flat = torch.cat([p.detach().reshape(-1) for p in trained.values()])

    def named(self, flat: Tensor) -> dict[str, Tensor]:
        """The parameters by name."""
        pieces = zip(self.shapes.items(), flat.split(self.sizes), strict=True)
        return {name: piece.view(shape) for (name, shape), piece in pieces}

    def call(self, flat: Tensor, x: Any) -> Tensor:
        """Outputs of the module with these parameters."""
        arguments: tuple[Any, ...] = (x,)
        keywords: dict[str, Any] = {}
        if isinstance(x, Mapping):
            arguments, keywords = (), dict(x)
        elif isinstance(x, Sequence):
            arguments = tuple(x)
        return functional_call(self.module, self.named(flat), arguments, keywords)

    def copied(self, flat: Tensor) -> nn.Module:
        """A module of its own with these parameters, for predictions."""
        module = deepcopy(self.module).eval()
        module.load_state_dict({k: v.clone() for k, v in self.named(flat).items()}, strict=False)
        return module


@contextmanager
def repeatable(seed: int, device: torch.device) -> Iterator[None]:
    """Noise from a seed, and operations whose gradients have gradients."""
    with ExitStack() as stack:
        devices = [device] if device.type == "cuda" else []
        stack.enter_context(torch.random.fork_rng(devices))
        torch.manual_seed(seed % 2**63)
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        stack.enter_context(DifferentiableBags())
        yield


@dataclass(frozen=True)
class ModuleProgram:
    """The training of a module (`nddv.replay.engine.Program`)."""

    parameters: Parameters
    loss: Loss
    data: Points
    optimizer: Optimizer
    epochs: int
    batch_size: int
    seed: int

    @cached_property
    def steps_per_epoch(self) -> int:
        """All points are seen in each epoch, in batches whose sizes differ by at most one."""
        return -(-len(self.data) // self.batch_size)

    @property
    def steps(self) -> int:
        """Of the whole run."""
        return self.epochs * self.steps_per_epoch

    def points(self, step: int) -> Tensor:
        """Indices (B,) of the points of a step."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return _batches(len(self.data), self.steps_per_epoch, self.seed, epoch)[place]

    def losses(self, flat: Tensor, step: int) -> Tensor:
        """Losses (B,) of the points of a step."""
        x, y = self.data.take(self.points(step))
        with repeatable(derive(self.seed, NOISE, step), flat.device):
            return self.loss(self.parameters.call(flat, x), y)

    def gradient(self, flat: Tensor, step: int, weights: Tensor) -> Tensor:
        """∇ (1/B) Σ w_i ℓ_i, (P,)."""
        again = flat.requires_grad or weights.requires_grad
        with torch.enable_grad():
            at = flat if flat.requires_grad else flat.detach().requires_grad_()
            total = (weights * self.losses(at, step)).sum() / len(weights)
            (gradient,) = torch.autograd.grad(total, at, create_graph=again)
        return gradient


@lru_cache(maxsize=4)  # a replay asks for the batches of an epoch one by one
def _batches(n: int, count: int, seed: int, epoch: int) -> tuple[Tensor, ...]:
    return torch.randperm(n, generator=generator(seed, ORDER, epoch)).tensor_split(count)
