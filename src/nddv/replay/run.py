"""`Replay`: train any torch module, and ask which training points made it what it is."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from tqdm import tqdm

from nddv.laws import Law, find_law
from nddv.replay.checks import check_loss, check_module, check_program
from nddv.replay.choices import LEVELS, OPTIMIZERS, REPLAY, SCHEDULES, TERMINAL, TRACIN
from nddv.replay.curves import CHECKS, DropCurve, drop_curve
from nddv.replay.engine import State, checkpoint_interval, run_from
from nddv.replay.modules import (
    LOSSES,
    Loss,
    ModuleProgram,
    Parameters,
    cross_entropy,
)
from nddv.replay.optimizers import Optimizer
from nddv.replay.points import Points
from nddv.replay.questions import Predict, Question, Utility, measure_of, name_of
from nddv.replay.scores import terminal_pairing, tracin
from nddv.replay.states import Kept, Stored, digest
from nddv.replay.trained import TrainedModule
from nddv.support.measuring import measure, versions
from nddv.support.provenance import config_hash
from nddv.support.settings import (
    Count,
    Flag,
    NotNegative,
    Positive,
    checked,
    choice,
    number,
    whole,
)
from nddv.support.wording import pick
from nddv.values import Values

Array = NDArray[np.float64]

GROUPS = 8
"""Groups of points without which the module is trained again, to check its values."""


class Replay:
    """Train a module; then replay the run backwards for the derivatives by points' weights.

    Point i takes part in the training with the weight w_i = 1, which scales its loss. For a utility
    U of the trained module, one replay gives dU/dw_i of all points, exactly: what U would lose, to
    first order, if the weight of i were less. The module itself is not changed.

    Parameters
    ----------
    module : any torch module. Layers in training mode are trained so; predictions are in evaluation
        mode. Parameters without gradients stay as they are.
    loss : "cross_entropy" of class indices, "squared_error" (½ of the square), or a function of
        outputs and targets of B points that gives their losses (B,).
    optimizer : "sgd" or "adamw", with decoupled weight decay.
    learning_rate : at the start of the schedule.
    schedule : "constant", or "linear" and "cosine", which end at zero.
    momentum : of SGD, or Adam's first beta.
    weight_decay : as in torch: a step takes the learning rate times this.
    epsilon : under the root of AdamW.
    clip : limit of the gradient norm.
    epochs : passes through the points.
    batch_size : points of a step.
    checkpoints : states that are kept: "all", "sqrt" (√K of K steps, and one more forward run), or
        "auto": all while they fit `memory`.
    memory : megabytes that states may take with "auto".
    folder : where to keep the states instead of in memory. A run that was interrupted goes on
        there, when `fit` is called again, to the same bytes.
    random_state : seed of batches and noise. The initial parameters are the module's own.
    progress : show a progress bar, and say what the run will take.

    Attributes
    ----------
    module_ : the trained module, in evaluation mode.
    megabytes_ : of the states that are kept.

    Examples
    --------
    >>> import torch, nddv
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(120, 4); y = (X[:, 0] > 0).long(); y[:6] = 1 - y[:6]
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    >>> run = nddv.Replay(net, learning_rate=0.1, epochs=5).fit(X[:100], y[:100])
    >>> values = run.values(X[100:], y[100:]).values
    >>> bool(values[:6].mean() < values[6:].mean())
    True
    """

    @checked
    def __init__(
        self,
        module: nn.Module,
        loss: str | Loss = "cross_entropy",
        *,
        optimizer: Annotated[str, choice(*OPTIMIZERS)] = "sgd",
        learning_rate: Positive = 0.05,
        schedule: Annotated[str, choice(*SCHEDULES)] = "linear",
        momentum: Annotated[float, number(0.0, below=1.0)] = 0.9,
        weight_decay: NotNegative = 0.0,
        epsilon: Positive = 1e-4,
        clip: Annotated[float, number(above=0.0, most=1e30)] = 1e30,
        epochs: Count = 20,
        batch_size: Count = 64,
        checkpoints: Annotated[str, choice("auto", "all", "sqrt")] = "auto",
        memory: Positive = 512.0,
        folder: str | Path | None = None,
        random_state: Annotated[int, whole(0, 2**63 - 1)] = 0,
        progress: Flag = False,
    ) -> None:
        check_module(module)
        self.module = module
        self.loss = pick(LOSSES, loss, "loss") if isinstance(loss, str) else loss
        check_loss(self.loss)
        self.optimizer, self.learning_rate, self.schedule = optimizer, learning_rate, schedule
        self.momentum, self.weight_decay, self.epsilon = momentum, weight_decay, epsilon
        self.clip, self.epochs, self.batch_size = clip, epochs, batch_size
        self.checkpoints, self.memory, self.folder = checkpoints, memory, folder
        self.random_state, self.progress = random_state, progress

    def fit(self, X: Any, y: Any = None) -> Replay:
        """Train the module.

        Parameters
        ----------
        X, y : (n, …) inputs and (n, …) targets, as arrays or tensors; or X alone, a data set whose
            items are pairs (x, y).
        """
        parameters = Parameters(deepcopy(self.module))
        like = parameters.flat
        data = Points(X, y, "training points", like.dtype, like.device)
        steps = self.epochs * -(-len(data) // self.batch_size)
        how = Optimizer(
            self.optimizer,
            self.learning_rate,
            self.weight_decay,
            self.clip,
            steps,
            self.schedule,
            self.momentum,
            epsilon=self.epsilon,
        )
        program = ModuleProgram(
            parameters, self.loss, data, how, self.epochs, self.batch_size, self.random_state
        )
        check_program(program)
        states = self._states(program)
        begun = states.newest() if isinstance(states, Stored) else None
        start = begun or State(0, like, how.init(like))
        with self._bar(steps - start.step, "training") as bar:

            def keep(state: State) -> None:
                if state is not begun:
                    states.keep(state)
                bar.update()
                if state.step % program.steps_per_epoch == 0:
                    _check_finite(state, self.learning_rate)

            with torch.no_grad():
                last = run_from(program, start, like.new_ones(len(data)), steps, keep)
        _check_finite(last, self.learning_rate)
        calm = Parameters(deepcopy(self.module).eval())
        self._run = TrainedModule(program, states, last.flat, calm)
        self.module_ = calm.copied(last.flat)
        return self

    def values(
        self,
        X_valid: Any,
        y_valid: Any = None,
        utility: Utility = "log_likelihood",
        trust: int = GROUPS,
    ) -> Values:
        """dU/dw of every training point, in units of U, for a utility of validation points.

        Parameters
        ----------
        utility : "log_likelihood" (minus the mean loss), "probability" (the mean probability of the
            class, with cross_entropy), or a function of outputs and targets that gives a number.
        trust : groups of points without which to train again, to see how far the values can be
            trusted; ``record["trust"]`` has what was seen. 0: none.
        """
        question = self._question(X_valid, y_valid, utility)
        return self._valued(question, find_law("loo"), trust, utility=name_of(utility))

    def semivalues(
        self,
        law: str,
        X_valid: Any,
        y_valid: Any = None,
        utility: Utility = "log_likelihood",
        levels: int = LEVELS,
    ) -> Values:
        """A semi-value of every training point: dU/dw, averaged over levels of participation.

        law : "shapley", "banzhaf", "beta(4,1)" and so on (`nddv.laws`), in the game of training on
            coalitions; each level is a run of its own, with its replay.
        """
        question = self._question(X_valid, y_valid, utility)
        return self._valued(
            question, find_law(law), levels=levels, utility=name_of(utility), semivalue=law
        )

    def explain(self, x: Any, target: Any = None, trust: int = 0) -> Values:
        """Which training points made a prediction: derivatives of it by their weights.

        Points of positive value speak for the prediction, of negative value against it.

        Parameters
        ----------
        x : one input or several (B, …): a group is explained by the mean of its predictions.
        target : with cross_entropy the classes (B,) whose log-probability is explained; default:
            those that are predicted. Otherwise the sum of the outputs is.
        """
        program = self._trained().program
        inputs = program.data.as_inputs(x)

        def question(predict: Predict) -> Tensor:
            outputs = predict(inputs)
            if program.loss is not cross_entropy:
                return outputs.reshape(len(outputs), -1).sum(1).mean()
            given = outputs.argmax(1) if target is None else torch.as_tensor(target).reshape(-1)
            return -cross_entropy(outputs, given.to(outputs.device)).mean()

        return self._valued(question, find_law("loo"), trust, explains="a prediction")

    def tracin(
        self, X_valid: Any, y_valid: Any = None, utility: Utility = "log_likelihood"
    ) -> Values:
        """TracIn of the same run, to compare: a score, of which the order alone has a meaning."""
        found = tracin(self._trained(), self._question(X_valid, y_valid, utility))
        return Values(found, record={"method": TRACIN, "utility": name_of(utility)})

    def terminal(self) -> Values:
        """The paper's terminal score of the trained module's outputs: −f_i·∂ℓ_i/∂f_i."""
        return Values(terminal_pairing(self._trained()), record={"method": TERMINAL})

    def derivatives(self, function: Question) -> Array:
        """d f/dw (n,) of any function of the trained module.

        function : is called with the module in evaluation mode (inputs -> outputs), and gives a
            number that depends on its outputs by torch operations.
        """
        return self._trained().derivatives(function)

    def retrain(self, weights: ArrayLike) -> nn.Module:
        """The module trained again where the points have weights (n,); all else is the same."""
        trained = self._trained()
        return trained.calm.copied(trained.trained_with(weights))

    def drop_curve(
        self,
        values: Values,
        X_valid: Any,
        y_valid: Any = None,
        utility: Utility = "log_likelihood",
        checks: int = CHECKS,
    ) -> DropCurve:
        """The utility that values predict when the lowest are dropped, checked by retraining.

        values : of `values`, with the same validation points and utility.
        checks : how often the module is trained again; 0: never.
        """
        trained, question = self._trained(), self._question(X_valid, y_valid, utility)
        at = values.record["utility_at"]
        return drop_curve(values.values, at, lambda w: trained.utilities(question, w), checks)

    def _valued(
        self, question: Question, law: Law, trust: int = 0, levels: int = LEVELS, **about: Any
    ) -> Values:
        """Values by the levels of a law, with their record."""
        trained = self._trained()
        # AdamW divides the scale of gradients away, so that most happens at the smallest levels
        smooth = self.optimizer == "sgd"
        t, weights = law.quadrature(levels) if smooth else law.levels(trained.n, levels)
        with measure() as run, self._bar(len(t) * trained.program.steps, "replaying") as bar:
            derivatives = [trained.derivatives(question, level, bar.update) for level in t]
        with torch.no_grad():
            at = float(trained.value(question, trained.flat))
        values = np.asarray(weights @ np.stack(derivatives))
        record = {"method": REPLAY, **about, "levels": t.tolist(), "utility_at": at}
        record |= {**run.as_record(), "settings": self._settings(), "versions": versions()}
        if trust:
            seen = trained.trust(values, question, trust)
            record["trust"] = seen.as_record()
            if self.progress:
                tqdm.write(str(seen))
        return Values(values, record=record)

    def _question(self, X: Any, y: Any, utility: Utility) -> Question:
        """A utility as a function of the module."""
        program = self._trained().program
        points = Points(X, y, "validation points", program.data.dtype, program.data.device)
        x, targets = points.all()
        of_outputs = measure_of(utility, program.loss)
        return lambda predict: of_outputs(predict(x), targets)

    def _trained(self) -> TrainedModule:
        trained: TrainedModule | None = getattr(self, "_run", None)
        if trained is None:
            raise ValueError("the module is not trained: call fit first")
        return trained

    def _states(self, program: ModuleProgram) -> Kept | Stored:
        """Where states are kept, and how many; their size is told before the training."""
        flat = program.parameters.flat
        size = flat.numel() * flat.element_size() * (3 if self.optimizer == "adamw" else 2)
        limit = {"all": np.inf, "sqrt": 0.0, "auto": self.memory * 2**20}[self.checkpoints]
        every = checkpoint_interval(program.steps, size, limit)
        count = -(-program.steps // every)
        # between two checkpoints the states are in memory while they are replayed
        self.megabytes_ = size * (count + (every if every > 1 else 0)) / 2**20
        if self.progress:
            where = f"in {self.folder}" if self.folder else "in memory"
            tqdm.write(
                f"{program.steps} steps; {count} states are kept {where}, "
                f"{self.megabytes_:.1f} MB at most"
            )
        if self.folder is None:
            return Kept(every)
        about = {"steps": program.steps, "every": every, "settings": config_hash(self._settings())}
        about |= {"parameters": digest(flat), "points": digest(*program.data.telling())}
        return Stored(self.folder, every, about, flat)

    def _settings(self) -> dict[str, Any]:
        """What the run depends on besides the module and the points; JSON can hold it."""
        names = ["optimizer", "learning_rate", "schedule", "momentum", "weight_decay"]
        names += ["epsilon", "clip", "epochs", "batch_size", "random_state"]
        return {**{name: getattr(self, name) for name in names}, "loss": name_of(self.loss)}

    def _bar(self, total: int, words: str) -> tqdm:
        return tqdm(total=total, desc=words, unit="step", disable=not self.progress)


def _check_finite(state: State, rate: float) -> None:
    if not bool(state.flat.isfinite().all()):
        raise FloatingPointError(
            f"training diverged before step {state.step}: lower learning_rate (now {rate})"
        )
