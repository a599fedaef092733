"""The registry of methods: everything that can turn a problem into values.

Adding a method is one function and one entry in ``METHODS``; its parameters go to
``config/methods.yaml``. Every method gets the same problem, with the same clean side data.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nddv.files import config_hash, measure, versions
from nddv.problems.problem import Problem
from nddv.values import Values

NDDV_PREFIX = "nddv-"

# Failures that belong to a method on given data, not to the code: they become a visible gap.
GAP_ERRORS = (ValueError, ArithmeticError, MemoryError)


@dataclass(frozen=True)
class Method:
    """One way to value training points.

    Attributes
    ----------
    name : as in configuration, file names and tables.
    title : as in figures and tables for people.
    citation : where it comes from.
    needs : parts of the problem that it reads.
    cost : how its time grows, in n training and m validation points, d features, E epochs.
    function : ``function(problem, seed, **parameters) -> Values``.
    """

    name: str
    title: str
    citation: str
    needs: tuple[str, ...]
    cost: str
    function: Callable[..., Values]


# A method's module is imported when the method runs: a rule depends on what it runs, no more.


def _small_loss(problem: Problem, seed: int, **parameters: Any) -> Values:
    from nddv.baselines import small_loss

    return Values(small_loss(problem.X_train, problem.y_train, **parameters))


def _knn_shapley(problem: Problem, seed: int, **parameters: Any) -> Values:
    from nddv.baselines import knn_shapley

    train, valid = (problem.X_train, problem.y_train), (problem.X_valid, problem.y_valid)
    return Values(knn_shapley(*train, *valid, **parameters))


def _random(problem: Problem, seed: int) -> Values:
    from nddv.baselines import random_values

    # A stream of its own: the problem's splits and corruption were drawn from the bare seed.
    rng = np.random.default_rng([seed, 1])
    return Values(random_values(len(problem.y_train), rng))


def _nddv(readout: str) -> Callable[..., Values]:
    def function(problem: Problem, seed: int, **parameters: Any) -> Values:
        return _fit_nddv(problem, seed, [readout], parameters)[readout]

    return function


def _fit_nddv(
    problem: Problem, seed: int, readouts: Sequence[str], parameters: dict[str, Any]
) -> dict[str, Values]:
    """Fit NDDV once and read the values out in every way asked for."""
    from nddv.estimator import NDDV

    estimator = NDDV(
        readout=readouts[0], task=problem.record["task"], random_state=seed, **parameters
    )
    with measure() as fit:
        estimator.fit(
            problem.X_train,
            problem.y_train,
            X_meta=problem.X_meta,
            y_meta=problem.y_meta,
            X_valid=problem.X_valid,
            y_valid=problem.y_valid,
        )
    found = {}
    for readout in readouts:
        with measure() as reading:
            values = np.asarray(estimator.readout_values(readout), dtype=np.float64)
        record = {
            "fit": estimator.record_,
            "fit_seconds": round(fit.seconds, 4),
            "readout": readout,
            "seconds": round(fit.seconds + reading.seconds, 4),
        }
        stderr = estimator.stderr_ if readout == estimator.readout else None
        found[readout] = Values(values, stderr, record)
    return found


_NDDV_CITATION = (
    "Liang et al., Neural Dynamic Data Valuation via Stochastic State-Adjoint Trajectories"
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "nddv-terminal",
            "NDDV, terminal (the paper's score)",
            _NDDV_CITATION,
            ("train", "meta"),
            "E·n",
            _nddv("terminal"),
        ),
        Method(
            "nddv-path",
            "NDDV, path-integrated",
            _NDDV_CITATION + ", its future work",
            ("train", "meta"),
            "E·n",
            _nddv("path"),
        ),
        Method(
            "nddv-participation",
            "NDDV, participation derivative",
            _NDDV_CITATION + "; replay as in Engstrom et al. (2025), arXiv 2503.13751",
            ("train", "meta", "valid"),
            "E·n, about three fits",
            _nddv("participation"),
        ),
        Method(
            "small-loss",
            "Small loss",
            "the control: log-likelihood under logistic regression",
            ("train",),
            "n·d",
            _small_loss,
        ),
        Method(
            "knn-shapley",
            "KNN-Shapley",
            "Jia et al. (2019), PVLDB 12(11)",
            ("train", "valid"),
            "m·n·(d + log n)",
            _knn_shapley,
        ),
        Method("random", "Random", "the chance line, measured", ("train",), "n", _random),
    )
}


def get_method(name: str) -> Method:
    """Look a method up by name."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name]


def value(method: str, problem: Problem, seed: int, **parameters: Any) -> Values:
    """Value the training points of a problem with one method.

    Parameters
    ----------
    method : a name in ``METHODS``.
    seed : random state of the method.
    parameters : of the method's function; its own defaults otherwise.
    """
    entry = get_method(method)
    with measure() as run:
        values = entry.function(problem, seed, **parameters)
    return _complete(entry, problem, seed, parameters, values, run.as_record())


def nddv_values(
    problem: Problem, seed: int, readouts: Sequence[str], **parameters: Any
) -> dict[str, Values]:
    """Value a problem with several NDDV readouts of one fitted run.

    Parameters
    ----------
    readouts : method names (``"nddv-path"``) or readout names (``"path"``).

    Returns
    -------
    Values by method name. ``seconds`` of each is the time of the fit plus that of its readout.
    """
    methods = [get_method(NDDV_PREFIX + name.removeprefix(NDDV_PREFIX)) for name in readouts]
    if not methods:
        raise ValueError("name at least one readout")
    names = [method.name.removeprefix(NDDV_PREFIX) for method in methods]
    with measure() as run:
        found = _fit_nddv(problem, seed, names, parameters)
    return {
        method.name: _complete(method, problem, seed, parameters, found[name], run.as_record())
        for method, name in zip(methods, names, strict=True)
    }


def value_or_gap(method: str, problem: Problem, seed: int, **parameters: Any) -> Values:
    """Value a problem as :func:`value` does, or stand in for values that cannot be had.

    A failure that belongs to the method on these data (``GAP_ERRORS``) is printed to stderr and
    gives empty values whose record holds the reason as ``gap``. Any other error is a bug: raised.
    """
    try:
        return value(method, problem, seed, **parameters)
    except GAP_ERRORS as error:
        return _gap(get_method(method), problem, seed, parameters, error)


def nddv_values_or_gaps(
    problem: Problem, seed: int, readouts: Sequence[str], **parameters: Any
) -> dict[str, Values]:
    """Value a problem as :func:`nddv_values` does; a failed fit is a gap for each method."""
    try:
        return nddv_values(problem, seed, readouts, **parameters)
    except GAP_ERRORS as error:
        methods = [get_method(NDDV_PREFIX + name.removeprefix(NDDV_PREFIX)) for name in readouts]
        return {m.name: _gap(m, problem, seed, parameters, error) for m in methods}


def _gap(
    method: Method, problem: Problem, seed: int, parameters: dict[str, Any], error: BaseException
) -> Values:
    traceback.print_exception(error)
    reason = {"gap": f"{type(error).__name__}: {error}"}
    return _complete(method, problem, seed, parameters, Values(np.empty(0)), reason)


def _complete(
    method: Method,
    problem: Problem,
    seed: int,
    parameters: dict[str, Any],
    values: Values,
    measured: dict[str, Any],
) -> Values:
    """Add to the method's own record what every record says."""
    record = {
        "method": method.name,
        "title": method.title,
        "problem": problem.record.get("address"),
        "seed": seed,
        "params": parameters,
        "params_hash": config_hash(parameters),
        "versions": versions(),
        **measured,
        **values.record,
    }
    return Values(values.values, values.stderr, record)
