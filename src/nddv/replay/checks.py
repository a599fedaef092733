"""What cannot be replayed is refused before the training, with what to do instead."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import UninitializedParameter

from nddv.replay.modules import ModuleProgram, check_classes, cross_entropy

NORMS = "use GroupNorm or LayerNorm, or call .eval() on these layers before the training"


def check_module(module: object) -> None:
    """Raise for a module that cannot be trained here."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    parameters = [p for p in module.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError(
            "the module has no parameters to train: name one that has, or let some of its own "
            "require gradients (requires_grad_)"
        )
    if any(isinstance(p, UninitializedParameter) for p in parameters):
        raise ValueError("the module is lazy: call it once with a batch, so that it has parameters")
    kinds = {(p.dtype, p.device) for p in parameters}
    if len(kinds) > 1 or not parameters[0].is_floating_point():
        raise ValueError("all parameters must have one floating-point type and one device")
    _check_memory(module)
    for name, layer in module.named_modules():
        if isinstance(layer, _BatchNorm) and layer.training:
            raise ValueError(
                f"{name or 'the module'} is a batch norm: a point would act on others of its batch "
                f"whatever its weight, and running means have no replay; {NORMS}"
            )


def _check_memory(module: nn.Module) -> None:
    """Two parameters in one place would be trained as two, and as one by torch."""
    places = {name: p.data_ptr() for name, p in module.named_parameters() if p.numel()}
    for (one, place), (other, of_other) in combinations(places.items(), 2):
        if place == of_other:
            raise ValueError(
                f"the parameters {one} and {other} share their memory, but are two: make them one "
                "(second.weight = first.weight), or give each its own (.clone())"
            )


def check_loss(loss: object) -> None:
    """Raise for what is no loss, or would have to be trained too."""
    if not callable(loss):
        raise ValueError(f"loss must be a name or a function, got {loss!r}")
    if isinstance(loss, nn.Module) and any(p.requires_grad for p in loss.parameters()):
        raise ValueError(
            "the loss has parameters, its own or shared with the module, which would not be "
            "trained: make them part of the module, or freeze them (requires_grad_(False))"
        )


def check_program(program: ModuleProgram) -> None:
    """Raise for a step that cannot be repeated, or whose gradient has no derivative."""
    flat, module = program.parameters.flat, program.parameters.module
    _check_optimizer(program, flat.dtype)
    x, y = program.data.take(program.points(0))
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    if program.loss is cross_entropy:
        _check_labels(program, flat, x, y)
    losses = program.losses(flat, 0)
    if losses.shape != (len(y),):
        raise ValueError(
            f"the loss must give one number a point, so {len(y)} for this batch, but has the shape "
            f'{tuple(losses.shape)}: do not reduce over the batch (reduction="none")'
        )
    if not bool(losses.isfinite().all()):
        raise ValueError("the losses of the untrained module are not finite: look at the data")
    if not torch.equal(program.losses(flat, 0), losses):
        raise ValueError(
            "the module gives something else when it is called again with the same seed: draw its "
            "noise from torch's generators, and keep nothing from call to call"
        )
    changed = [n for n, b in module.named_buffers() if not torch.equal(b, before[n])]
    if changed:
        raise ValueError(
            f"calling the module changes its buffers ({', '.join(changed)}), which have no replay; "
            f"{NORMS}"
        )
    _check_derivative(program, flat, len(y))


def _check_labels(program: ModuleProgram, flat: Tensor, x: Any, y: Tensor) -> None:
    """All labels, where they are at hand, not those of the first batch only."""
    with torch.no_grad():
        outputs = program.parameters.call(flat, x)
    check_classes(outputs, y if program.data.y is None else program.data.y)


def _check_optimizer(program: ModuleProgram, dtype: torch.dtype) -> None:
    """AdamW divides by √(v̂ + ε²); where v̂ is zero, ε² must not be."""
    how = program.optimizer
    least = torch.finfo(dtype).tiny ** 0.5
    if how.name == "adamw" and how.epsilon < least:
        raise ValueError(
            f"epsilon={how.epsilon:g} is zero when it is squared in {dtype}: AdamW's step has no "
            f"derivative where a gradient is zero; take at least {least:.0e}, better 1e-8"
        )


def _check_derivative(program: ModuleProgram, flat: Tensor, size: int) -> None:
    """A step back must be possible."""
    w = torch.ones(size, dtype=flat.dtype, device=flat.device, requires_grad=True)
    at = flat.clone().requires_grad_()
    try:
        gradient = program.gradient(at, 0, w)
        torch.autograd.grad(gradient, (at, w), torch.ones_like(gradient))
    except RuntimeError as error:
        raise ValueError(
            f"the gradient of the module cannot be differentiated again: {error}; replace the "
            "operation by others"
        ) from error
