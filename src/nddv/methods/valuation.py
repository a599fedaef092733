"""Run a method on a problem: values, with the record that every run leaves.

A rule is a function that says by the names of its parameters what it wants of the problem (``X``,
``y``, ``X_valid``, ``y_valid``, ``n``, a ``rng``, a coalition ``game``, ``class_accuracies`` of
coalitions, or the whole ``problem`` and a ``seed``); all others are settings.
Every method gets the same problem, with the same clean side data.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nddv.methods.variants import NDDV_PREFIX, Variant, is_nddv, split_variant
from nddv.problems.problem import Problem
from nddv.support.measuring import measure, versions
from nddv.support.provenance import config_hash
from nddv.support.settings import Device, Flag, Positive, Precision, Utility, checked
from nddv.values import NoValues, Values

if TYPE_CHECKING:
    from nddv.estimator.nddv import NDDV
    from nddv.methods.registry import Method

# Failures of a method on its data, not of the code: they become a visible gap.
GAP_ERRORS = (NoValues, ArithmeticError)


def value(method: str, problem: Problem, seed: int, **parameters: Any) -> Values:
    """Value the training points of a problem with one method.

    Parameters
    ----------
    method : a name in ``METHODS``.
    seed : random state of the method.
    parameters : of the method's function; its own defaults otherwise.
    """
    return values_together([method], problem, seed, **parameters)[method]


def values_together(
    methods: Sequence[str], problem: Problem, seed: int, **parameters: Any
) -> dict[str, Values]:
    """Value a problem as :func:`value` does, with methods that read the same fits.

    Parameters
    ----------
    methods : all readouts of NDDV, or all of one function of the registry, which is called once.

    Returns
    -------
    Values by method. ``seconds`` of each is the time of the fits, plus that of its own reading.
    """
    if is_nddv(methods[0]):
        return nddv_values([problem], [seed], methods, **parameters)[0]
    entries = [_entry(name) for name in methods]
    if len({entry.function for entry in entries}) > 1:
        raise ValueError(f"{', '.join(methods)}: these methods do not read the same fits")
    _check_task(entries[0], problem)
    found = {}
    with measure() as run:
        with measure() as fit:
            result = _run_function(entries[0], problem, seed, parameters)
        for entry in entries:
            with measure() as reading:
                values = _read_rule(entry, result)
            values.record.setdefault("seconds", round(fit.seconds + reading.seconds, 4))
            found[entry.name] = values
    measured = run.as_record()
    return {
        name: _complete(name, problem, seed, parameters, values, measured)
        for name, values in found.items()
    }


def _entry(name: str) -> Method:
    # Imported here, so that a new entry of the registry is no change of this module: values that
    # other methods have given stay valid.
    from nddv.methods.registry import get_method

    return get_method(name)


def _check_task(method: Method, problem: Problem) -> None:
    """Raise where a method cannot value problems of this task."""
    task = problem.record.get("task", "classification")
    if task not in method.tasks:
        raise NoValues(
            f"{method.title} is for {' and '.join(method.tasks)}, and this is a {task} problem"
        )


def _run_function(method: Method, problem: Problem, seed: int, parameters: dict[str, Any]) -> Any:
    """Call the function of a rule with what it wants of the problem, and its settings."""
    from nddv.methods.signatures import MADE, load, read_signature

    # A method's module is imported when it runs: a rule depends on what it runs, no more.
    function = load(method.function)
    wanted = inspect.signature(function).parameters
    settings = dict(parameters)
    offered: dict[str, Any] = {
        "problem": problem,
        "seed": seed,
        "evaluator": method.name.partition(":")[2],
        "X": problem.X_train,
        "y": problem.y_train,
        "X_valid": problem.X_valid,
        "y_valid": problem.y_valid,
        "X_meta": problem.X_meta,
        "dataset": problem.record.get("dataset", ""),
        "n": len(problem.y_train),
        # A stream of its own: the problem's splits and corruption were drawn from the bare seed.
        "rng": np.random.default_rng([seed, 1]),
    }
    for name in MADE.keys() & wanted.keys():
        own = read_signature(MADE[name]).settings.keys() & settings.keys()
        offered[name] = load(MADE[name])(problem, **{key: settings.pop(key) for key in own})
    result = function(**{name: offered[name] for name in wanted if name in offered}, **settings)
    if "game" not in offered:
        return result
    values = result if isinstance(result, Values) else Values(result)
    values.record["fitted"] = offered["game"].fitted  # those in the cache cost nothing
    return values


def _read_rule(method: Method, result: Any) -> Values:
    """The values of a rule, of what its function gave."""
    from nddv.methods.signatures import load

    read = load(method.reading)(result) if method.reading else result
    return read if isinstance(read, Values) else Values(read)


@checked
def logistic_game(
    problem: Problem,
    *,
    C: Positive = 1.0,
    utility: Utility = "accuracy",
    cache: Flag = False,
    device: Device = "cpu",
    dtype: Precision = "float64",
) -> Any:
    """The game of a problem: validation utility of logistic regressions on its coalitions.

    Parameters
    ----------
    C : inverse strength of the L2 penalty.
    utility : of a coalition's logistic regression on the validation part.
    cache : keep utilities on disk and look them up, so that rules and repetitions share fits.
    device : where to compute.
    dtype : precision of the fits; float32 gives coefficients to 1e-4 in half the time.
    """
    from nddv.coalitions import LogisticGame
    from nddv.coalitions.cache import default_folder

    return LogisticGame(
        *_train_and_valid(problem),
        C=C,
        utility=utility,
        cache=default_folder() if cache else None,
        device=device,
        dtype=dtype,
    )


def class_accuracies(problem: Problem, **settings: Any) -> Any:
    """What CS-Shapley asks of a coalition: the accuracy of its logistic regression by class."""
    from nddv.baselines.class_wise import logistic_class_accuracies

    return logistic_class_accuracies(*_train_and_valid(problem), **settings)


def _train_and_valid(problem: Problem) -> tuple[Any, Any, Any, Any, int]:
    """Training and validation points, and the number of classes: of the data set, or as seen."""
    if "classes" in problem.record:
        classes = len(problem.record["classes"])
    else:
        classes = 1 + int(max(problem.y_train.max(), problem.y_valid.max()))
    return (problem.X_train, problem.y_train, problem.X_valid, problem.y_valid, classes)


def fit_nddv(problem: Problem, seed: int, readout: str, parameters: Mapping[str, Any]) -> NDDV:
    """NDDV fitted to a problem, with its side data."""
    model, data = _nddv(problem, seed, readout, parameters)
    return model.fit(**data)


def _nddv(
    problem: Problem, seed: int, readout: str, parameters: Mapping[str, Any]
) -> tuple[NDDV, dict[str, Any]]:
    """NDDV for a problem, and the arguments of its `fit`."""
    from nddv.estimator.nddv import NDDV

    sides = [f"{xy}_{side}" for side in ("meta", "valid") for xy in "Xy"]
    data = {"X": problem.X_train, "y": problem.y_train} | {s: getattr(problem, s) for s in sides}
    return NDDV(readout, problem.record["task"], random_state=seed, **parameters), data


def _read(model: NDDV, readout: str, fit_seconds: float) -> Values:
    """The values of a fitted model under one readout."""
    with measure() as reading:
        sensitivities = np.asarray(model.readout_sensitivities(readout), dtype=np.float64)
    record = {
        "fit": model.record_,
        "fit_seconds": round(fit_seconds, 4),
        "readout": readout,
        "utility": model.folds_[0].utility_of(readout),
        "seconds": round(fit_seconds + reading.seconds, 4),
    }
    stderr = model.stderr_ if readout == model.readout else None
    return Values.centered(sensitivities, stderr, record)


def nddv_values(
    problems: Sequence[Problem], seeds: Sequence[int], readouts: Sequence[str], **parameters: Any
) -> list[dict[str, Values]]:
    """Value problems, each with its seed, with several NDDV readouts.

    Readouts that are made for the same configuration are read out of one fit.

    Parameters
    ----------
    problems, seeds : problems of the same sizes are fitted together (`nddv.fit_together`).
    readouts : method names (``"nddv-path"``) or readout names (``"path"``); of variants all with
        the same change.

    Returns
    -------
    Of each problem: values by method name. ``seconds`` of each is the time of the fit, which
    problems fitted together share equally, plus that of its readout.
    """
    names = _nddv_names(readouts)
    variants = [split_variant(name)[1] for name in names]
    if any(other != variants[0] for other in variants):
        raise ValueError("the readouts of one fit must have the same settings")
    for problem in problems:
        for name in names:
            _check_task(_entry(name), problem)
    values: list[dict[str, Values]] = [{} for _ in problems]
    for together in _by_configuration(names, parameters):
        for of_problem, new in zip(
            values, _read_together(problems, seeds, together, variants[0], parameters), strict=True
        ):
            of_problem.update(new)
    return [{name: of_problem[name] for name in names} for of_problem in values]


def _by_configuration(names: Sequence[str], parameters: Mapping[str, Any]) -> list[list[str]]:
    """Methods that are read out of one fit: those whose settings are of the same configuration."""
    groups: dict[str, list[str]] = {}
    for name in names:
        chosen = _settings(name, parameters)["configuration"]
        groups.setdefault(chosen, []).append(name)
    return list(groups.values())


def _read_together(
    problems: Sequence[Problem],
    seeds: Sequence[int],
    names: Sequence[str],
    variant: Variant | None,
    parameters: dict[str, Any],
) -> list[dict[str, Values]]:
    """Value problems with readouts of one configuration."""
    from nddv.estimator.together import fit_together

    own = [split_variant(name)[0].removeprefix(NDDV_PREFIX) for name in names]
    with measure() as run:
        changed = [variant.apply(p, parameters) if variant else (p, parameters) for p in problems]
        with measure() as fit:
            made = zip(changed, seeds, strict=True)
            models = [_nddv(problem, seed, own[0], settings) for (problem, settings), seed in made]
            fitted = fit_together(*zip(*models, strict=True))
        seconds = fit.seconds / len(fitted)
        values = [[_read(model, readout, seconds) for readout in own] for model in fitted]
    measured = run.as_record()
    return [
        {
            name: _complete(name, problem, seed, parameters, value, measured)
            for name, value in zip(names, of_problem, strict=True)
        }
        for problem, seed, of_problem in zip(problems, seeds, values, strict=True)
    ]


def _nddv_names(readouts: Sequence[str]) -> list[str]:
    if not readouts:
        raise ValueError("name at least one readout")
    return [_entry(NDDV_PREFIX + name.removeprefix(NDDV_PREFIX)).name for name in readouts]


def value_or_gap(method: str, problem: Problem, seed: int, **parameters: Any) -> Values:
    """Value a problem as :func:`value` does, or say why there are none.

    A failure that belongs to the method on these data (``GAP_ERRORS``) is printed to stderr and
    gives empty values whose record holds the reason as ``gap``. Any other error is a bug: raised.
    """
    return values_or_gaps([method], problem, seed, **parameters)[method]


def values_or_gaps(
    methods: Sequence[str], problem: Problem, seed: int, **parameters: Any
) -> dict[str, Values]:
    """Value a problem as :func:`values_together` does; failed fits are a gap for each method."""
    try:
        return values_together(methods, problem, seed, **parameters)
    except GAP_ERRORS as error:
        return {name: _gap(name, problem, seed, parameters, error) for name in methods}


def nddv_values_or_gaps(
    problems: Sequence[Problem], seeds: Sequence[int], readouts: Sequence[str], **parameters: Any
) -> list[dict[str, Values]]:
    """Value problems as :func:`nddv_values` does; a failed fit is a gap for each method."""
    try:
        return nddv_values(problems, seeds, readouts, **parameters)
    except GAP_ERRORS as error:
        if len(problems) > 1:  # one of them has failed: which, and what do the others give?
            alone = zip(problems, seeds, strict=True)
            return [nddv_values_or_gaps([p], [s], readouts, **parameters)[0] for p, s in alone]
        of = (problems[0], seeds[0], parameters, error)
        return [{name: _gap(name, *of) for name in _nddv_names(readouts)}]


def _gap(
    method: str, problem: Problem, seed: int, parameters: dict[str, Any], error: BaseException
) -> Values:
    traceback.print_exception(error)
    reason = {"gap": f"{type(error).__name__}: {error}"}
    return _complete(method, problem, seed, parameters, Values(np.empty(0)), reason)


def _complete(
    method: str,
    problem: Problem,
    seed: int,
    parameters: dict[str, Any],
    values: Values,
    measured: dict[str, Any],
) -> Values:
    """Add to the method's own record what every record says."""
    settings = _settings(method, parameters)
    record = {
        "method": method,
        "problem": problem.record.get("address"),
        "seed": seed,
        "params": settings,
        "params_hash": config_hash(settings),
        "versions": versions(),
        **measured,
        **values.record,
    }
    return replace(values, record=record)


def _settings(method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All settings that a method runs with, the change of a variant among them."""
    from nddv.estimator.settings import SETTINGS
    from nddv.methods.settings import completed

    variant = split_variant(method)[1] if is_nddv(method) else None
    if variant is None:
        return completed(method, parameters)
    change = {variant.parameter: variant.setting}
    if variant.parameter in SETTINGS:
        return completed(method, {**parameters, **change})
    return completed(method, parameters) | change  # of the problem, not of NDDV
