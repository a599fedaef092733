"""Which labels are wrong: how many, which, and what they should be.

    found = check_labels(X, y)
    found.wrong            # about how many labels are wrong, with an interval
    found.p_wrong          # (n,) the probability that a label is wrong
    found.suggested        # (n,) the label that a row should have

Every row is scored by models that have not seen it (`nddv.estimator.held_out`); a channel between
true and given labels (`nddv.checks.channel`) turns scores into probabilities.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from nddv.checks.channel import Channel
from nddv.checks.fitting import fit_channel
from nddv.estimator.held_out import blocks, held_out_scores, stratified_parts
from nddv.estimator.nddv import NDDV
from nddv.estimator.validation import (
    check_features,
    check_targets,
    column_names,
    encode_labels,
)
from nddv.support.stored import StoredRows
from nddv.support.wording import InputError, InputWarning

Floats = NDArray[np.float64]

FOLDS, FEWER_FOLDS, MANY_ROWS = 5, 2, 20_000
"""Parts of the rows, each of which is held out once; with many rows, half of them teach enough."""

CONFIDENCE = 0.9
"""Of the interval of a number of wrong labels."""

FEWEST = 5
"""Rows that a class must have: of fewer, none may be left when some are held out."""

NEVER = 1e-12  # smallest probability that other models may have given a class
ABOVE = 1e-3  # so far above one their probabilities may be by rounding


@dataclass(frozen=True)
class Estimate:
    """A number of rows that is not known exactly: about `count`, from `low` to `high`."""

    count: float
    low: float
    high: float

    @classmethod
    def of(cls, count: float, error: float, most: int) -> Estimate:
        """With its interval, between 0 and `most`."""
        reach = float(norm.ppf(0.5 + CONFIDENCE / 2)) * error
        return cls(float(count), max(0.0, count - reach), min(float(most), count + reach))

    def __str__(self) -> str:
        return f"about {self.count:.0f} ({self.low:.0f} to {self.high:.0f})"


@dataclass(frozen=True)
class LabelCheck:
    """What was found about the labels.

    Attributes
    ----------
    classes : (C,) the labels there are.
    codes : (n,) the given labels, as positions in `classes`.
    scores : (n, C) of held-out rows.
    truth : (n, C) probability of each class to be the true label, given features and label.
    channel : from true labels to given ones.
    wrong : how many labels are wrong.
    by_class : (C,) rows of a data frame: label, rows, wrong, low, high.
    unjudged : (n,) rows of classes that are too small; their label counts as right.
    """

    classes: NDArray[Any]
    codes: NDArray[np.intp]
    scores: Floats
    truth: Floats
    channel: Channel
    wrong: Estimate
    by_class: pd.DataFrame
    unjudged: NDArray[np.bool_]

    @property
    def p_wrong(self) -> Floats:
        """(n,) the probability that a label is wrong."""
        return wrong_probability(self.truth, self.codes)

    @property
    def best_other(self) -> NDArray[np.intp]:
        """(n,) the most probable class besides the given one, as a position in `classes`."""
        return best_other(self.truth, self.codes)

    @property
    def suggested(self) -> NDArray[Any]:
        """(n,) the label that a row should have: another than the given one if p_wrong > ½."""
        return np.asarray(self.classes[np.where(self.p_wrong > 0.5, self.best_other, self.codes)])

    @property
    def p_suggested(self) -> Floats:
        """(n,) the probability that the suggested label is the true one."""
        places = np.where(self.p_wrong > 0.5, self.best_other, self.codes)
        return np.asarray(self.truth[np.arange(len(places)), places])


def wrong_probability(truth: Floats, codes: NDArray[np.intp]) -> Floats:
    """One minus the probability (n, C) of the given class."""
    return np.asarray(np.clip(1.0 - truth[np.arange(len(codes)), codes], 0.0, 1.0))


def best_other(truth: Floats, codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most probable class (n,) besides the given one."""
    others = np.where(np.arange(truth.shape[1]) == codes[:, None], -1.0, truth)
    return np.asarray(others.argmax(1))


def check_labels(
    X: Any,
    y: Any,
    X_meta: Any = None,
    y_meta: Any = None,
    *,
    model: NDDV | None = None,
    folds: int | None = None,
) -> LabelCheck:
    """Check the labels (n,) of rows (n, d).

    Parameters
    ----------
    X, y : as in `NDDV.fit`.
    X_meta, y_meta : rows whose labels you trust, if there are any: they help to tell doubtful rows
        from wrong labels.
    model : its settings are those of the models that score rows; it is not changed.
    folds : parts of the rows, each of which is held out once; default: 5, or 2 of many rows.
    """
    settings = NDDV() if model is None else model
    seed = int(settings.random_state or 0)
    x = check_features(X, "X")
    labels = check_targets(y, x.shape[0], "y", "X")
    classes, codes = encode_labels(labels, "y")
    if folds is None:
        folds = FEWER_FOLDS if len(codes) > MANY_ROWS else FOLDS
    if not 2 <= folds <= len(codes):
        raise ValueError(f"folds must be from 2 to the {len(codes)} rows, got {folds}")
    trusted, trusted_codes = None, np.zeros(0, dtype=np.intp)
    if X_meta is not None or y_meta is not None:
        trusted = check_features(X_meta, "X_meta", column_names(X))
        if trusted.shape[1] != x.shape[1]:
            raise InputError(f"X_meta has {trusted.shape[1]} features, but X has {x.shape[1]}")
        of_meta = check_targets(y_meta, trusted.shape[0], "y_meta", "X_meta")
        trusted_codes = encode_labels(of_meta, "y_meta", classes)[1]
    rng = np.random.default_rng([seed, 1])
    stored = isinstance(x, StoredRows)
    parts = blocks(len(codes), folds, rng) if stored else stratified_parts(codes, folds, rng)
    scores, of_trusted = held_out_scores(settings, x, codes, parts, trusted)
    return judge_labels(scores, codes, classes, of_trusted, trusted_codes)


def judge_labels(
    scores: Floats,
    codes: NDArray[np.intp],
    classes: NDArray[Any],
    trusted: Floats | None = None,
    trusted_codes: ArrayLike = (),
) -> LabelCheck:
    """The same from scores (n, C) of held-out rows, and of trusted rows."""
    n, sizes = len(codes), np.bincount(codes, minlength=len(classes))
    unjudged = sizes[codes] < FEWEST
    if unjudged.any():
        small = [f"{classes[k]} ({sizes[k]})" for k in np.flatnonzero(sizes < FEWEST)][:5]
        warnings.warn(
            InputWarning(
                f"classes of fewer than {FEWEST} rows: {', '.join(small)}; whether these "
                f"{int(unjudged.sum())} rows have a wrong label cannot be told"
            ),
            stacklevel=3,
        )
    more = np.zeros((0, scores.shape[1])) if trusted is None else trusted
    known = np.concatenate([unjudged, np.ones(len(more), dtype=bool)])
    every = np.concatenate([scores, more])
    labels = np.concatenate([codes, np.asarray(trusted_codes, dtype=np.intp)])
    fitted = ~np.concatenate([unjudged, np.zeros(len(more), dtype=bool)])
    channel = fit_channel(every[fitted], labels[fitted], known[fitted])
    truth = channel.mean(channel.posteriors(scores, codes))
    truth[unjudged] = np.eye(len(classes))[codes[unjudged]]
    counts, errors = channel.wrong_counts(scores, codes, unjudged)
    each = [Estimate.of(c, e, int(s)) for c, e, s in zip(counts, errors, sizes, strict=False)]
    by_class = pd.DataFrame({"label": classes, "rows": sizes})
    for name, column in (("wrong", "count"), ("low", "low"), ("high", "high")):
        by_class[name] = [getattr(estimate, column) for estimate in each]
    wrong = Estimate.of(counts[-1], errors[-1], n)
    return LabelCheck(classes, codes, scores, truth, channel, wrong, by_class, unjudged)


def find_label_issues(
    labels: ArrayLike, pred_probs: ArrayLike, return_indices_ranked_by: str | None = None
) -> NDArray[Any]:
    """As cleanlab's function of this name: which labels are wrong, by out-of-sample probabilities.

    Parameters
    ----------
    labels : (n,) classes 0 … C−1.
    pred_probs : (n, C) of any model that has not seen the row.
    return_indices_ranked_by : None gives a mask (n,); any word gives indices, the surest first.
    """
    codes, given = np.asarray(labels), np.asarray(pred_probs, dtype=np.float64)
    sound = given.ndim == 2 and codes.shape == given.shape[:1]
    if not sound or not ((given >= 0) & (given <= 1 + ABOVE)).all():
        raise InputError(f"pred_probs must be probabilities ({len(codes)}, C), one row a label")
    known = np.isin(codes, np.arange(given.shape[1]))
    if not known.all():
        strange = codes[(~known).argmax()]
        raise InputError(f"labels must be classes 0 … {given.shape[1] - 1}, got {strange}")
    codes = codes.astype(np.intp)
    scores = np.log(np.maximum(given, NEVER))
    p_wrong = judge_labels(scores, codes, np.arange(given.shape[1])).p_wrong
    issues = p_wrong > 0.5
    if return_indices_ranked_by is None:
        return issues
    order = np.argsort(-p_wrong, kind="stable")
    return np.asarray(order[issues[order]])
