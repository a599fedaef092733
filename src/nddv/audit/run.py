"""The audits of one problem and seed, as the workflow runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.audit.bounds import utility_range
from nddv.audit.bridge import bridge_budget
from nddv.audit.certificates import certify
from nddv.audit.datamodelling import linear_datamodelling
from nddv.audit.errors import error_terms, gap_quantiles, scale_factor
from nddv.audit.laws import semivalue
from nddv.audit.marginals import Marginals, reference_marginals
from nddv.audit.pairs import choose_pairs, pair_utilities
from nddv.audit.ranks import correlation, rank_correlations
from nddv.audit.retraining import RetrainedGame
from nddv.coalitions.predict import MEASURES
from nddv.estimator import NDDV
from nddv.files import measure, versions
from nddv.problems.problem import Problem
from nddv.valuation import logistic_game
from nddv.values import Values

IN_UNITS = "nddv-participation"
"""The readout whose scores are in units of the utility."""

NEARLY_NOTHING = 1e-9
"""Size, beside the marginals, of scores that have no scale in common with them."""

# Streams of random numbers; the first is that of the rules, which may find the same coalitions.
MARGINALS, PAIRS, POINTS, SUBSETS, CONTEXTS = 1, 3, 4, 5, 6


def audit_marginals(
    problem: Problem, seed: int, permutations: int, coalitions: int, **game: Any
) -> tuple[dict[str, Marginals], dict[str, Any]]:
    """Reference marginals by utility, and a record of what they cost.

    The coalitions of all utilities are the same, so that with a ``cache`` each is fitted once.
    """
    found, fitted = {}, 0
    with measure() as run:
        for utility in MEASURES:
            played = logistic_game(problem, utility=utility, **game)
            rng = np.random.default_rng([seed, MARGINALS])
            found[utility] = reference_marginals(played, rng, permutations, coalitions)
            fitted += played.fitted
    record = {"fits": fitted, "fits_per_second": round(fitted / run.seconds, 1)}
    return found, {**record, **run.as_record(), "versions": versions()}


def nddv_scores(values: Mapping[str, Values]) -> dict[str, NDArray[np.float64]]:
    """Scores s (n,) of the readouts: of participation the raw derivatives, of others the centred.

    The theorem is about differences of scores, and holds for any vector with these differences. The
    raw scores of terminal and path have no zero that means anything, those of participation do.
    """
    scores = {}
    for method, one in values.items():
        if method.startswith("nddv-"):
            n = len(one.values)
            centred = one.values * (n - 1) / n
            shift = one.record["mean_sensitivity"] if method == IN_UNITS else 0.0
            scores[method] = centred + shift
    return scores


def audit_scores(
    marginals: Mapping[str, Marginals], values: Mapping[str, Values], calibration: int
) -> dict[str, pd.DataFrame]:
    """Error terms, gap quantiles and rank correlations under every utility."""
    good = {method: one for method, one in values.items() if len(one.values)}
    scores = nddv_scores(good)
    of_all = {method: one.values for method, one in good.items()}
    titles = {method: one.record["title"] for method, one in good.items()}
    frames: dict[str, list[pd.DataFrame]] = {"errors": [], "gaps": [], "ranks": []}
    for utility, one in marginals.items():
        found = {
            "errors": error_terms(scores, {IN_UNITS}, one, calibration),
            "gaps": gap_quantiles(one),
            "ranks": rank_correlations(of_all, one),
        }
        found["errors"]["title"] = found["errors"]["readout"].map(titles)
        found["ranks"]["title"] = found["ranks"]["method"].map(titles)
        for name, frame in found.items():
            frames[name].append(frame.assign(utility=utility))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items()}


def audit_certificates(
    problem: Problem,
    seed: int,
    values: Mapping[str, Values],
    marginals: Mapping[str, Marginals],
    semivalues: Sequence[str],
    pairs: int,
    samples: int,
    alpha: float,
    calibration: int,
    **game: Any,
) -> pd.DataFrame:
    """Certificates against the semi-values of the downstream logistic regression.

    The pairs are stratified by the gaps of the participation readout. Scores are scaled as in
    :func:`~nddv.audit.errors.error_terms`; see :func:`scaled`.
    """
    scores = nddv_scores(values)
    rng = np.random.default_rng([seed, PAIRS])
    chosen, stratum = choose_pairs(scores[IN_UNITS], pairs, rng)
    frames = []
    for utility, reference in marginals.items():
        played = logistic_game(problem, utility=utility, **game)
        on_scale = scaled(scores, reference.walks[:calibration])
        # The same coalitions for every utility.
        draws = np.random.default_rng([seed, PAIRS, 1])
        for name in semivalues:
            law = semivalue(name, played.n)
            sampled = pair_utilities(played, law, chosen, samples, draws)
            rows = certify(
                sampled,
                on_scale,
                utility_range(utility),
                alpha,
                stratum=stratum,
                reference=_reference_gaps(reference, name, chosen),
            )
            frames.append(rows.assign(game="logistic", utility=utility))
    return pd.concat(frames, ignore_index=True)


def scaled(
    scores: Mapping[str, NDArray[np.float64]],
    marginals: NDArray[np.float64],
    points: NDArray[np.intp] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Scores (n,) on the scale of marginals (M, n); those in units of the utility also as they are.

    A score that no positive factor fits is made small beside the marginals: it keeps its order, and
    certifies nothing.

    points : (k,), those that the marginals, then (M, k), are of.
    """
    found = {f"{IN_UNITS} (raw)": scores[IN_UNITS]}
    for readout, s in scores.items():
        known = s if points is None else s[points]
        factor = scale_factor(known, marginals)
        if np.isnan(factor):
            largest = np.abs(s).max()
            factor = NEARLY_NOTHING * np.abs(marginals).max() / largest if largest > 0 else 0.0
        found[readout] = factor * s
    return found


def _reference_gaps(
    marginals: Marginals, name: str, pairs: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Gaps of sampled semi-values and their standard errors, where these were sampled."""
    known = {
        "shapley": (marginals.shapley, marginals.shapley_stderr),
        "banzhaf": (marginals.banzhaf, marginals.banzhaf_stderr),
    }
    if name not in known:
        return None
    values, stderr = (one[pairs] for one in known[name])
    return values[:, 0] - values[:, 1], np.hypot(stderr[:, 0], stderr[:, 1])


def audit_retraining(
    problem: Problem,
    seed: int,
    values: Mapping[str, Values],
    settings: Mapping[str, Any],
    points: int,
    pairs: int,
    subsets: int,
    shares: Sequence[float],
    alpha: float,
) -> dict[str, pd.DataFrame]:
    """Audits against exact retraining of the NDDV model itself, by mean log-likelihood.

    Parameters
    ----------
    values : of NDDV, fitted with the same ``settings`` and seed, and of the controls.

    Returns
    -------
    - fidelity: Spearman's correlation of every method with leave-one-out retraining on some points;
    - datamodelling: linear datamodelling scores;
    - certificates: exact ones for leave-one-out, the raw participation derivatives and the other
      readouts scaled to the retrained marginals of points that no pair has;
    - marginals: the leave-one-out marginals, one row per point, beside the scores.
    """
    model = fit_nddv(problem, seed, settings)
    game = RetrainedGame(model)
    good = {method: one for method, one in values.items() if len(one.values)}
    scores = nddv_scores(good)
    rng = np.random.default_rng([seed, POINTS])
    chosen = np.sort(rng.choice(game.n, size=min(points, game.n), replace=False))
    utilities = game.utilities(_without(game.n, chosen))
    marginals = utilities[0] - utilities[1:]
    fidelity = pd.DataFrame(
        [
            {"method": method, "points": len(chosen), "spearman": correlation(v, marginals)}
            for method, v in ((m, one.values[chosen]) for m, one in good.items())
        ]
    )
    subset_rng = np.random.default_rng([seed, SUBSETS])
    lds = linear_datamodelling(
        game, {m: one.values for m, one in good.items()}, subset_rng, shares, subsets
    )
    titles = {method: one.record["title"] for method, one in good.items()}
    others = np.setdiff1d(np.arange(game.n), chosen)
    local, stratum = choose_pairs(
        scores[IN_UNITS][others], pairs, np.random.default_rng([seed, PAIRS])
    )
    sampled = pair_utilities(game, semivalue("loo", game.n), others[local], 1, rng)
    on_scale = scaled(scores, marginals[None], chosen)
    certificates = certify(sampled, on_scale, None, alpha, stratum=stratum)
    return {
        "fidelity": fidelity.assign(title=fidelity["method"].map(titles)),
        "datamodelling": lds.assign(title=lds["method"].map(titles)),
        "certificates": certificates.assign(game="nddv", utility="log_likelihood"),
        "marginals": pd.DataFrame(
            {"point": chosen, "marginal": marginals, **{m: s[chosen] for m, s in scores.items()}}
        ),
    }


def _without(n: int, points: NDArray[np.intp]) -> NDArray[np.float64]:
    """Weights of everyone, and of everyone but each of the points."""
    weights = np.ones((len(points) + 1, n))
    weights[np.arange(1, len(points) + 1), points] = 0.0
    return weights


def audit_bridge(
    problem: Problem,
    seed: int,
    settings: Mapping[str, Any],
    points: int,
    sizes: Sequence[float],
    intervals: int,
) -> pd.DataFrame:
    """The budget of Theorem continuous_inclusion_bridge for some points and coalitions.

    sizes : shares of the points in the coalitions, one coalition each; 1 is everyone else.
    """
    model = fit_nddv(problem, seed, {**settings, "dtype": "float64"})
    n = len(problem.y_train)
    rng = np.random.default_rng([seed, CONTEXTS])
    chosen = rng.choice(n, size=points, replace=False)
    ranks = np.stack([rng.permutation(n) for _ in sizes])
    coalitions = ranks < np.round(np.asarray(sizes) * n)[:, None]
    readouts = ("terminal", "participation")
    return bridge_budget(model, chosen, coalitions, intervals=intervals, readouts=readouts)


def fit_nddv(problem: Problem, seed: int, settings: Mapping[str, Any]) -> NDDV:
    """NDDV as the rules fit it, for what values alone do not tell."""
    model = NDDV("participation", problem.record["task"], random_state=seed, **settings)
    return model.fit(
        problem.X_train,
        problem.y_train,
        X_meta=problem.X_meta,
        y_meta=problem.y_meta,
        X_valid=problem.X_valid,
        y_valid=problem.y_valid,
    )
