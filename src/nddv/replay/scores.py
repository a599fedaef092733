"""Other scores of a training run, to hold beside its replay: TracIn, and the terminal pairing."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nddv.replay.engine import State, run_from
from nddv.replay.modules import FINAL, repeatable
from nddv.replay.questions import Question
from nddv.replay.seeds import derive
from nddv.replay.trained import TrainedModule

Array = NDArray[np.float64]


@torch.no_grad()
def tracin(run: TrainedModule, question: Question) -> Array:
    """Σ −η ∇U·∇ℓ_i (n,) over the states before each epoch (Pruthi et al. 2020, arXiv 2002.08484).

    η is the learning rate there. The scale has no meaning: moments are left out of account.
    """
    program = run.program
    total = torch.zeros_like(run.flat[:1]).repeat(run.n)

    def keep(state: State) -> None:
        if state.step % program.steps_per_epoch == 0:
            total.sub_(program.optimizer.rate(state.step) * _alignments(run, question, state.flat))

    run_from(program, run.states[0], torch.ones_like(total), program.steps, keep)
    return np.asarray(total.double().numpy(force=True))


@torch.enable_grad()
def _alignments(run: TrainedModule, question: Question, flat: Tensor) -> Tensor:
    """∇U·∇ℓ_i (n,) at parameters, without a gradient per point.

    With g(w) = Σ w_i ∇ℓ_i, which one backward pass gives, they are the derivatives of ∇U·g by w.
    """
    at = flat.detach().clone().requires_grad_()
    (direction,) = torch.autograd.grad(run.value(question, at), at)
    found: list[Tensor] = []
    for index in _chunks(run):
        w = torch.ones_like(flat[:1]).repeat(len(index)).requires_grad_()
        losses = run.program.loss(*_outputs(run, at, index))
        (gradient,) = torch.autograd.grad((w * losses).sum(), at, create_graph=True)
        found += torch.autograd.grad(gradient, w, direction)
    return torch.cat(found)


def terminal_pairing(run: TrainedModule) -> Array:
    """−f_i·∂ℓ_i/∂f_i (n,) of the outputs f_i of the trained module.

    The paper's score, −X_S·∇Φ of the last state, where the outputs are that state.
    """
    found = []
    for index in _chunks(run):
        with torch.no_grad():
            outputs, y = _outputs(run, run.flat, index)
        outputs.requires_grad_()
        with torch.enable_grad():
            (adjoint,) = torch.autograd.grad(run.program.loss(outputs, y).sum(), outputs)
        found.append(-(outputs.detach() * adjoint).reshape(len(index), -1).sum(1))
    return np.asarray(torch.cat(found).double().numpy(force=True))


def _chunks(run: TrainedModule) -> tuple[Tensor, ...]:
    return torch.arange(run.n).split(run.program.batch_size)


def _outputs(run: TrainedModule, flat: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs in evaluation mode, and targets, of points (B,)."""
    x, y = run.program.data.take(index)
    with repeatable(derive(run.program.seed, FINAL), flat.device):
        return run.calm.call(flat, x), y
