"""OpenDataVal (Jiang et al. 2023): its evaluators on our problems, and NDDV as one of them.

    run_opendataval("DataBanzhaf", problem, seed=100)

    ExperimentMediator(fetcher, model).compute_data_values([NDDVEvaluator(), DataOob()])

OpenDataVal also imports torchvision and transformers, which only its picture and BERT parts use.
Where they have not been imported before, stand-ins are put in their place while it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from inspect import isabstract
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from nddv.integrations.stand_ins import stand_ins
from nddv.problems.problem import Problem
from nddv.values import NoValues, Values

UNUSED_MODULES = (
    "torchvision",
    "torchvision.datasets",
    "torchvision.transforms",
    "torchvision.transforms.functional",
    "transformers",
)
HOW_TO_INSTALL = (
    "OpenDataVal cannot be imported ({error}). It pins versions older than ours, so it has to be "
    "installed without its dependencies: `make opendataval`, or by hand `pip install "
    "'nddv[opendataval]'` and `pip install --no-deps opendataval==1.3.0`"
)
PARTS = ("train", "valid", "test")


with stand_ins(UNUSED_MODULES):
    try:
        _opendataval = import_module("opendataval")
        _dataval, _dataloader, _model = (
            import_module(f"opendataval.{part}") for part in ("dataval", "dataloader", "model")
        )
    except ImportError as error:
        raise ImportError(HOW_TO_INSTALL.format(error=error)) from error


def evaluators() -> dict[str, type]:
    """OpenDataVal's evaluators by name."""
    return {
        name: kind
        for name, kind in vars(_dataval).items()
        if isinstance(kind, type)
        and issubclass(kind, _dataval.DataEvaluator)
        and not isabstract(kind)
    }


def run_opendataval(
    evaluator: str,
    problem: Problem,
    seed: int,
    model: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Values:
    """Value the training points of a problem with an evaluator of OpenDataVal.

    The utility is validation accuracy. What the evaluator prints goes to stderr, and torch's global
    random state, which some evaluators draw from, is put back.

    Parameters
    ----------
    evaluator : a name in :func:`evaluators`, such as ``"DataBanzhaf"``.
    problem : with classes to predict.
    seed : random state of the evaluator.
    model : parameters of the prediction model, scikit-learn's ``LogisticRegression``. For
        ``"InfluenceFunction"``, which needs gradients, it is OpenDataVal's own in torch, without
        any.
    parameters : of the evaluator; its own defaults otherwise.
    """
    known = evaluators()
    if evaluator not in known:
        raise ValueError(
            f"OpenDataVal has no evaluator {evaluator!r}; it has {', '.join(sorted(known))}"
        )
    fetcher = data_fetcher(problem)
    if evaluator != "InfluenceFunction":  # it alone takes no random state
        parameters = {**parameters, "random_state": seed}
    settings = {"max_iter": 1000, **(model or {})}
    with torch.random.fork_rng(), redirect_stdout(sys.stderr):
        torch.manual_seed(seed)
        run = known[evaluator](**parameters)
        if hasattr(run, "sampler"):
            # It would cache by id(sampler), and find what an earlier sampler of that id has left.
            run.sampler.cache_name = None
        if evaluator == "InfluenceFunction":
            predictor = _model.LogisticRegression(*fetcher.covar_dim, *fetcher.label_dim)
        else:
            predictor = _model.ClassifierSkLearnWrapper(
                LogisticRegression, *fetcher.label_dim, **settings
            )
        try:
            run.train(fetcher, predictor)
            values = np.asarray(run.data_values, dtype=np.float64).reshape(-1)
        except Exception as error:
            # Whatever fails in there is theirs: a gap of this evaluator on this problem.
            reason = f"{type(error).__name__}: {error}"
            raise NoValues(f"OpenDataVal's {evaluator} failed here: {reason}") from error
    return Values(values, record={"opendataval": _opendataval.__version__})


def data_fetcher(problem: Problem) -> Any:
    """The training, validation and test parts of a problem as a ``DataFetcher`` of OpenDataVal."""
    parts = [(getattr(problem, f"X_{p}"), getattr(problem, f"y_{p}")) for p in PARTS]
    one_hot = np.eye(1 + max(int(y.max()) for _, y in parts), dtype=np.float32)
    arrays = [array for X, y in parts for array in (X, one_hot[y])]
    return _dataloader.DataFetcher.from_data_splits(*arrays, one_hot=True)


class NDDVEvaluator(_dataval.DataEvaluator, _dataval.ModelLessMixin):  # type: ignore[name-defined]
    """NDDV as an evaluator of OpenDataVal.

    OpenDataVal's validation data are NDDV's meta and validation data: it gives its evaluators no
    other. The prediction model of an experiment is not used.

    Parameters
    ----------
    readout : as in :class:`nddv.NDDV`; None: the usual one of the task, in which low is bad.
    embedding_model : of OpenDataVal, to turn documents or pictures into rows.
    random_state : seed, or numpy ``RandomState`` to draw one from.
    parameters : of :class:`nddv.NDDV`.

    Attributes
    ----------
    estimator : the fitted :class:`nddv.NDDV`.
    """

    def __init__(
        self,
        readout: str | None = None,
        embedding_model: Any = None,
        random_state: int | np.random.RandomState | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(random_state)
        self.readout = readout
        self.embedding_model = embedding_model
        self.parameters = parameters
        if isinstance(random_state, (int, np.integer)):
            self.seed = int(random_state)
        else:
            self.seed = int(self.random_state.randint(2**31 - 1))

    def train_data_values(self, *args: Any, **kwargs: Any) -> NDDVEvaluator:
        """Fit NDDV; the arguments are those of the prediction model."""
        # Imported here, so that a change of NDDV is no change of what run_opendataval depends on.
        from nddv.dynamics.readouts import default_readout
        from nddv.estimator.nddv import NDDV

        X_train, X_valid = map(_rows, self.embeddings(self.x_train, self.x_valid))
        task, y_train, y_valid = _targets(self.y_train, self.y_valid)
        readout = self.readout or default_readout(task).name
        self.estimator = NDDV(readout, task, random_state=self.seed, **self.parameters)
        self.estimator.fit(X_train, y_train, X_valid, y_valid)
        self.data_values = self.estimator.values_
        return self

    def evaluate_data_values(self) -> NDArray[np.float64]:
        """Values (n,) of the training points, higher is better."""
        return self.estimator.values_


def _rows(x: Any) -> NDArray[Any]:
    """Covariates as rows (n, d)."""
    if not isinstance(x, torch.Tensor):
        raise ValueError(
            f"NDDV values rows of numbers, and the covariates are a {type(x).__name__}: give "
            "NDDVEvaluator an embedding_model that turns them into a tensor"
        )
    return x.numpy(force=True).reshape(len(x), -1)


def _targets(*labels: torch.Tensor) -> tuple[str, NDArray[Any], NDArray[Any]]:
    """The task, and the classes of one-hot labels (n, C) or the numbers of labels (n, 1)."""
    arrays = [y.numpy(force=True) for y in labels]
    if arrays[0].ndim == 1 or arrays[0].shape[1] == 1:
        numbers = [y.reshape(len(y)) for y in arrays]
        return "regression", numbers[0], numbers[1]
    for y in arrays:
        if not (np.isin(y, (0, 1)).all() and (y.sum(axis=1) == 1).all()):
            raise ValueError("labels of several columns must be one-hot, a single 1 in each row")
    return "classification", arrays[0].argmax(axis=1), arrays[1].argmax(axis=1)
