"""A trained module: its derivatives at any level of participation, and training it again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from nddv.replay.engine import Tick, replay, run_from
from nddv.replay.modules import FINAL, ModuleProgram, Parameters, repeatable
from nddv.replay.questions import Question
from nddv.replay.seeds import derive
from nddv.replay.states import Kept, Stored
from nddv.replay.trust import Trust, random_groups, smoothness

Array = NDArray[np.float64]

TRUST = 1  # address of the draws of groups

PROBES = 256
"""Training points whose outputs tell how smooth a run is."""


@dataclass(frozen=True)
class TrainedModule:
    """A run that has been trained with weights of one.

    Attributes
    ----------
    program : what was run.
    states : along the run, with the weights of one.
    flat : (P,) its last parameters.
    calm : the module in evaluation mode.
    """

    program: ModuleProgram
    states: Kept | Stored
    flat: Tensor
    calm: Parameters

    @property
    def n(self) -> int:
        """How many points it was trained on."""
        return len(self.program.data)

    def value(self, question: Question, flat: Tensor) -> Tensor:
        """A function of the module with these parameters."""
        with repeatable(derive(self.program.seed, FINAL), flat.device):
            return torch.as_tensor(question(lambda x: self.calm.call(flat, x)))

    def derivatives(
        self, question: Question, level: float = 1.0, tick: Tick = lambda steps: None
    ) -> Array:
        """Derivatives (n,) of a function of the module by weights, where all of these are a level.

        A level below one is a run of its own.
        """
        program, states, last = self.program, self.states, self.flat
        weights = torch.full_like(self.flat[:1], level).expand(self.n)
        if level != 1:
            states = Kept(self.states.every)
            with torch.no_grad():
                last = run_from(program, self.states[0], weights, program.steps, states.keep).flat
        end = last.detach().clone().requires_grad_()
        with torch.enable_grad():
            value = self.value(question, end)
            if value.ndim or not value.requires_grad:
                raise ValueError(
                    "the function must give one number that depends on the module's outputs by "
                    "torch operations"
                )
            if not bool(value.isfinite()):
                raise ValueError(
                    f"the function of the trained module is {value.item()}: look at the validation "
                    "points, and keep logarithms away from zero"
                )
            (costate,) = torch.autograd.grad(value, end)
        found = replay(program, weights, states, costate, tick).double().numpy(force=True)
        if not np.isfinite(found).all():
            rate = program.optimizer.learning_rate
            raise FloatingPointError(f"the replay is not finite: lower learning_rate (now {rate})")
        return np.asarray(found)

    def trained_with(self, weights: ArrayLike) -> Tensor:
        """Parameters (P,) of training with weights (n,)."""
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (self.n,) or not (given >= 0).all():
            raise ValueError(f"weights must be {self.n} numbers that are not negative, one a point")
        w = torch.as_tensor(given).to(self.flat)
        with torch.no_grad():
            return run_from(self.program, self.states[0], w, self.program.steps).flat

    def utilities(self, question: Question, weights: Array) -> Array:
        """A function of the module (B,) after training with weights (B, n)."""
        with torch.no_grad():
            return np.array([float(self.value(question, self.trained_with(w))) for w in weights])

    def trust(self, values: Array, question: Question, groups: int) -> Trust:
        """Values (n,) of a function held against training without groups of points."""
        rng = np.random.default_rng([self.program.seed, TRUST])
        x = self.program.data.take(torch.arange(min(self.n, PROBES)))[0]

        def outputs(weights: Array) -> Array:
            flat = self.trained_with(weights)
            with torch.no_grad():
                return self.value(lambda predict: predict(x), flat).double().numpy(force=True)

        dropped = random_groups(self.n, groups, rng)
        with torch.no_grad():
            at = float(self.value(question, self.flat))
        actual = self.utilities(question, np.where(dropped, 0.0, 1.0)) - at
        return Trust(-(dropped @ values), actual, smoothness(outputs, self.n, rng))
