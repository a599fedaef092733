"""What cannot be replayed is refused before the training, with what to do instead."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import UninitializedParameter

from nddv.replay.modules import ModuleProgram, cross_entropy

NORMS = "use GroupNorm or LayerNorm, or call .eval() on these layers before the training"


def check_module(module: object) -> None:
    """Raise for a module that cannot be trained here."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    parameters = [p for p in module.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("the module has no parameters to train")
    if any(isinstance(p, UninitializedParameter) for p in parameters):
        raise ValueError("the module is lazy: call it once with a batch, so that it has parameters")
    kinds = {(p.dtype, p.device) for p in parameters}
    if len(kinds) > 1 or not parameters[0].is_floating_point():
        raise ValueError("all parameters must have one floating-point type and one device")
    for name, layer in module.named_modules():
        if isinstance(layer, _BatchNorm) and layer.training:
            raise ValueError(
                f"{name or 'the module'} is a batch norm: a point would act on others of its batch "
                f"whatever its weight, and running means have no replay; {NORMS}"
            )


def check_program(program: ModuleProgram) -> None:
    """Raise for a step that cannot be repeated, or whose gradient has no derivative."""
    flat, module = program.parameters.flat, program.parameters.module
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


def _check_labels(program: ModuleProgram, flat: Tensor, x: object, y: Tensor) -> None:
    with torch.no_grad():
        outputs = program.parameters.call(flat, x)
    if outputs.ndim != 2:
        raise ValueError(
            f"cross_entropy needs outputs (B, classes), but the module gives {tuple(outputs.shape)}"
        )
    labels = y if program.data.y is None else program.data.y
    if labels.is_floating_point():
        raise ValueError("cross_entropy needs class indices, but the targets are not integers")
    if not 0 <= int(labels.min()) <= int(labels.max()) < outputs.shape[1]:
        raise ValueError(
            f"labels go from {int(labels.min())} to {int(labels.max())}, but the module has "
            f"{outputs.shape[1]} outputs: they must be 0 to {outputs.shape[1] - 1}"
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
