"""The scikit-learn style estimator `NDDV` and the one-call form `value`."""

from __future__ import annotations

import time
from inspect import cleandoc
from textwrap import fill
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from nddv.dynamics.participation import retrain
from nddv.estimator.folds import single_fold
from nddv.estimator.results import Fitted, read_out, values_of
from nddv.estimator.settings import SETTINGS, TASKS, Settings
from nddv.estimator.together import fit_groups
from nddv.estimator.validation import check_features, check_readout
from nddv.replay.curves import CHECKS, DropCurve, drop_curve
from nddv.support.settings import parameters_section
from nddv.values import Values


class NDDV(Settings, Fitted, BaseEstimator):
    """Neural dynamic data valuation: a value for every training point from a training run.

    The points move as controlled stochastic states that interact through a weighted mean; the
    adjoint of that flow turns each point's part in it into a score (Algorithm 1 of the paper).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    values_ : (n,) centred values φ, higher is better; they sum to zero (Eq. dynamic_dv).
    sensitivities_ : (n,) the same before centring, higher is better.
    stderr_ : (n,) Monte-Carlo standard errors of values_, or None for one trajectory.
    weights_ : (n,) weights of the points: self-weights, or meta weights v_i.
    history_ : dict of lists, one entry an epoch (epochs of a second fold follow the first's).
    task_ : "classification" or "regression".
    classes_ : class labels (classification). n_features_in_, feature_names_in_ as in scikit-learn.
    trace_ : (epochs, steps + 1, n) scores φ at all epochs and Euler times, with `layer_trace`.
    record_ : settings, seconds, versions, members, epochs, growth of the adjoint.
    folds_ : the trained models: one, or two where rows had to be held out.

    Notes
    -----
    The readouts are these; `readout_values` gives all of them from one fit.

    {readouts}

    Examples
    --------
    >>> import numpy as np, nddv
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)); y = (X[:, 0] > 0).astype(int); y[:10] = 1 - y[:10]
    >>> values = nddv.NDDV(epochs=5).fit(X, y).values_
    >>> bool(values[:10].mean() < values[10:].mean())
    True
    """

    def fit(
        self,
        X: Any,
        y: Any,
        X_meta: Any = None,
        y_meta: Any = None,
        X_valid: Any = None,
        y_valid: Any = None,
    ) -> NDDV:
        """Train the members on (X, y) and value its points.

        Parameters
        ----------
        X, y : (n, d) training features (array, data frame, scipy sparse rows, or rows on disk:
            `nddv.open_rows`) and (n,) labels of any dtype, or numbers for regression.
        X_meta, y_meta : clean data that meta weights are learned on (configuration "paper"). The
            default configuration needs none. Where some are needed and missing, a stratified part
            of the training points is held out, and a second model, which holds another part out,
            values those points (and only those).
        X_valid, y_valid : data that the utility of a readout is measured on; default: meta.

        Raises
        ------
        ValueError : a setting, or the data, cannot be used; it says which, and why.
        FloatingPointError : the training, or a readout of it, left the finite numbers.
        """
        start = time.perf_counter()
        sides = {"X_meta": X_meta, "y_meta": y_meta, "X_valid": X_valid, "y_valid": y_valid}
        fit_groups([self], [{"X": X, "y": y, **sides}], self.progress)
        self.record_["seconds"] = round(time.perf_counter() - start, 4)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def drop_curve(self, checks: int = CHECKS) -> DropCurve:
        """The utility of this run when the rows of lowest value are dropped, for every number.

        It is predicted by the participation derivatives, to first order, and checked by training
        the run again at a few numbers of rows. The model must have one run: the configuration
        "paper" (that of the readout "participation"), and meta data.

        checks : how often to train again; 0: never.
        """
        check_is_fitted(self, "values_")
        fold = single_fold(self)
        run, goal = fold.run, fold.goal_of("participation")

        def trained_with(weights: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.array([retrain(run, torch.as_tensor(w).to(run.flat), goal) for w in weights])

        (at,) = trained_with(np.ones((1, len(fold.index))))
        return drop_curve(
            self.readout_sensitivities("participation"), float(at), trained_with, checks
        )

    def class_scores(self, X: Any) -> NDArray[np.float64]:
        """Mean log-probability of every class along the training, (m, C), for any rows.

        X: (m, d) as in `fit`. The score of a label, less the mean of `sensitivities_`, compares
        with the values of the readout "path". Rows that were trained on are known to the model.
        """
        check_is_fitted(self, "values_")
        if self.task_ != "classification":
            raise ValueError("the targets of a regression have no classes to score")
        columns = getattr(self, "feature_names_in_", None)
        x = check_features(X, "X", None if columns is None else list(columns))
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} features, but the model {self.n_features_in_}")
        scores = [fold.class_scores(x) for fold in self.folds_]
        return np.asarray(np.mean(scores, axis=0))

    def readout_values(self, readout: str) -> NDArray[np.float64]:
        """Values (n,) under any readout of the same fitted run or runs."""
        return values_of(self.readout_sensitivities(readout))

    def readout_sensitivities(self, readout: str) -> NDArray[np.float64]:
        """Values (n,) before centring: of readouts that derive a utility, in its units."""
        check_is_fitted(self, "values_")
        check_readout(readout, self.task_)
        if readout == self.record_["readout"]:  # a replay may take longer than the training
            return np.array(self.sensitivities_)
        with tqdm(total=0, unit="step", disable=not self.progress) as bar:
            return np.asarray(read_out(self.folds_, readout, bar).mean(0))


def _document(estimator: type) -> None:
    """Fill in what is written elsewhere: the settings and the readouts."""
    from nddv.dynamics.readouts import READOUTS

    readouts = []
    for name, readout in READOUTS.items():
        mute = [t for t in TASKS if t in readout.tasks and t not in readout.low_is_bad]
        caution = f". In {' and '.join(mute)} a low value does not mean a bad point" if mute else ""
        made = (
            ""
            if readout.configuration == "default"
            else f' (configuration "{readout.configuration}")'
        )
        line = f"- {name}{made}: {readout.meaning}{caution}."
        readouts.append(fill(line, 100, subsequent_indent="  "))
    parts = {"parameters": parameters_section(SETTINGS), "readouts": "\n".join(readouts)}
    estimator.__doc__ = cleandoc(estimator.__doc__ or "").format_map(parts)


_document(NDDV)


def value(
    X: Any,
    y: Any,
    *,
    X_meta: Any = None,
    y_meta: Any = None,
    X_valid: Any = None,
    y_valid: Any = None,
    **params: Any,
) -> Values:
    """Value the rows of (X, y) in one call; `params` are those of `NDDV`."""
    model = NDDV(**params).fit(X, y, X_meta, y_meta, X_valid, y_valid)
    return Values(model.values_, model.stderr_, model.record_)
