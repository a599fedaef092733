"""The audits of one problem and seed, as the workflow runs them.

Marginals are in :mod:`nddv.audit.marginals`. The points are divided once: the scales of scores are
fitted to the marginals of some points, and audited on the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.audit.bounds import UTILITY_RANGES
from nddv.audit.bridge import bridge_budget
from nddv.audit.certificates import BOUNDS, certify
from nddv.audit.choices import PARTICIPATION
from nddv.audit.datamodelling import linear_datamodelling
from nddv.audit.errors import ZERO, error_terms, gap_quantiles, scale_factor
from nddv.audit.laws import semivalue
from nddv.audit.marginals import Marginals
from nddv.audit.pairs import PairUtilities, choose_pairs, pair_utilities
from nddv.audit.ranks import correlation, rank_correlations
from nddv.audit.retraining import RetrainedGame, leave_one_out_retrained, sampled_shapley
from nddv.coalitions.sampling import reliability
from nddv.methods.valuation import fit_nddv, logistic_game
from nddv.methods.variants import NDDV_PREFIX
from nddv.problems.problem import Problem
from nddv.values import Values

NO_SCALE = "no positive factor fits"

# Streams of random numbers, apart from those of problems, rules and marginals.
PAIRS, POINTS, SUBSETS, CONTEXTS, SHARES = 3, 4, 5, 6, 7

Scores = dict[str, NDArray[np.float64]]


def nddv_scores(values: Mapping[str, Values]) -> Scores:
    """Scores s (n,) of NDDV, the released one too: raw where in units of a utility, else centred.

    The theorem is about differences of scores, and holds for any vector with these differences. The
    zero of the raw scores has no meaning for terminal and path; for derivatives it has.
    """
    scores = {}
    for method, valued in values.items():
        if not method.startswith(NDDV_PREFIX):
            continue
        if "gap" in valued.record:
            raise ValueError(f"{method} has no values to audit: {valued.record['gap']}")
        s = valued.sensitivities
        assert s is not None  # NDDV's values come with them
        scores[method] = s if valued.record.get("utility") else s - s.mean()
    return scores


def calibration_points(n: int, seed: int, share: float) -> NDArray[np.intp]:
    """The points to which scales are fitted, in order."""
    order = np.random.default_rng([seed, POINTS]).permutation(n)
    return np.sort(order[: max(1, round(share * n))])


def audit_scores(
    marginals: Mapping[str, Marginals], values: Mapping[str, Values], seed: int, calibration: float
) -> dict[str, pd.DataFrame]:
    """Error terms, gap quantiles and rank correlations under every utility.

    calibration : share of the points to which scales are fitted.
    """
    from nddv.dynamics.readouts import READOUTS

    # the error terms are about leave-one-out marginals, which semi-values do not aim at
    semivalues = {NDDV_PREFIX + readout.name for readout in READOUTS.values() if readout.law}
    local = {m: s for m, s in nddv_scores(values).items() if m not in semivalues}
    reasons = {method: v.record.get("gap", "") for method, v in values.items()}
    frames: dict[str, list[pd.DataFrame]] = {"errors": [], "gaps": [], "ranks": []}
    for utility, reference in marginals.items():
        chosen = calibration_points(len(reference.loo), seed, calibration)
        ranks = rank_correlations({method: v.values for method, v in values.items()}, reference)
        measured = {
            "errors": error_terms(local, _raw(values, utility), reference, chosen),
            "gaps": gap_quantiles(reference),
            "ranks": ranks.assign(gap=ranks["method"].map(reasons)),
        }
        for name, frame in measured.items():
            frames[name].append(frame.assign(utility=utility))
    return {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items()}


def _raw(values: Mapping[str, Values], utility: str) -> set[str]:
    """The readouts that derive this utility, so that they are in its units."""
    return {method for method, v in values.items() if v.record.get("utility") == utility}


def audit_certificates(
    problem: Problem,
    seed: int,
    values: Mapping[str, Values],
    marginals: Mapping[str, Marginals],
    semivalues: Sequence[str],
    pairs: int,
    samples: int,
    alpha: float,
    calibration: float,
    **game: Any,
) -> pd.DataFrame:
    """Certificates against the semi-values of the downstream logistic regression.

    The pairs are stratified by the gaps of the participation readout. They are pairs of points to
    which no scale was fitted. The scale of a score is fitted to the semi-value of the other points.

    Returns
    -------
    Rows of :func:`~nddv.audit.certificates.certify`, with ``game``, ``utility`` and a ``note``. If
    no positive factor fits a score, its rows have no numbers, and it certifies nothing.
    """
    scores = nddv_scores(values)
    fitted = calibration_points(len(problem.y_train), seed, calibration)
    chosen, stratum = audited_pairs(scores[PARTICIPATION], fitted, pairs, seed)
    frames = []
    for utility, reference in marginals.items():
        played = logistic_game(problem, utility=utility, **game)
        # The same coalitions for every utility.
        draws = np.random.default_rng([seed, PAIRS, 1])
        for name in semivalues:
            sampled = pair_utilities(played, semivalue(name, played.n), chosen, samples, draws)
            worth, stderr = reference.semivalue(name)
            on_scale = scaled(scores, _raw(values, utility), fitted, worth[fitted])
            gaps = worth[chosen] @ [1, -1], np.hypot(*stderr[chosen].T)
            known = None if sampled.exact else gaps
            rows = _certify(sampled, on_scale, UTILITY_RANGES[utility], alpha, stratum, known)
            frames.append(rows.assign(game="logistic", utility=utility))
    return pd.concat(frames, ignore_index=True)


def audited_pairs(
    scores: NDArray[np.float64], fitted: NDArray[np.intp], pairs: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs (P, 2) of points to which no scale is fitted, and their strata (P,)."""
    others = np.setdiff1d(np.arange(len(scores)), fitted)
    rng = np.random.default_rng([seed, PAIRS])
    chosen, stratum = choose_pairs(scores[others], pairs, rng)
    return others[chosen], stratum


def scaled(
    scores: Scores, raw: set[str], points: NDArray[np.intp], marginals: NDArray[np.float64]
) -> dict[str, NDArray[np.float64] | None]:
    """Scores (n,) on the scale of marginals (k,) of points (k,); those in ``raw`` also unscaled.

    None means that no positive factor fits a score.
    """
    on_scale: dict[str, NDArray[np.float64] | None] = {}
    for readout, s in scores.items():
        if readout in raw:
            on_scale[f"{readout} (raw)"] = s
        factor = scale_factor(s[points], marginals)
        on_scale[readout] = None if np.isnan(factor) else factor * s
    return on_scale


def _certify(
    sampled: PairUtilities,
    on_scale: Mapping[str, NDArray[np.float64] | None],
    limits: tuple[float, float] | None,
    alpha: float,
    stratum: NDArray[np.intp],
    reference: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> pd.DataFrame:
    """Certificates of the scores that have a scale, and rows without numbers for the others."""
    usable = {readout: s for readout, s in on_scale.items() if s is not None}
    # If no score has a scale, a score of zeros stands in, so that the control is still computed.
    scores = usable or {ZERO: np.zeros(sampled.law.n)}
    rows = certify(sampled, scores, limits, alpha, stratum=stratum, reference=reference)
    rows["note"] = ""
    shared = ["i", "j", "stratum", "semivalue", "coalitions", "exact"]
    first = rows[rows["readout"] == rows["readout"].iloc[0]][shared]
    nothing = {f"certified_{bound}": False for bound in BOUNDS}
    blank = [
        first.assign(readout=readout, note=NO_SCALE, agrees=pd.NA, **nothing)
        for readout, s in on_scale.items()
        if s is None
    ]
    return pd.concat([rows[rows["readout"] != ZERO], *blank], ignore_index=True)


def audit_retraining(
    problem: Problem,
    seed: int,
    values: Mapping[str, Values],
    settings: Mapping[str, Any],
    points: int,
    coalitions: int,
    pairs: int,
    subsets: int,
    shares: Sequence[float],
    alpha: float,
) -> dict[str, pd.DataFrame]:
    """Audits against exact retraining of the NDDV model itself, by mean log-likelihood.

    Shapley values are of the game whose utility is the mean probability of the label.

    Parameters
    ----------
    values : of NDDV, fitted with the same ``settings`` and seed, and of the controls.
    points : number of points to leave out one by one; the scale of scores is fitted to these.
    coalitions : at which the marginals of the same points are averaged to Shapley values.
    pairs : of other points.

    Returns
    -------
    - fidelity: Spearman's correlation of every method with leave-one-out retraining, and with
      Shapley values by retraining, beside their reliability;
    - datamodelling: linear datamodelling scores;
    - certificates: exact certificates for leave-one-out;
    - marginals: one row per point that was left out, beside its scores.
    """
    model = fit_nddv(problem, seed, "participation", settings)
    scores = nddv_scores(values)
    if not np.allclose(scores[PARTICIPATION], model.sensitivities_, rtol=1e-3, atol=1e-8):
        raise ValueError(
            "the values to be audited are not those of the model that is retrained here: they were "
            "made with other settings or on another kind of device; make them again"
        )
    game = RetrainedGame(model)
    chosen = calibration_points(game.n, seed, min(points, game.n) / game.n)
    marginals = leave_one_out_retrained(model, chosen)
    reasons = {method: v.record.get("gap", "") for method, v in values.items()}
    good = {method: v.values for method, v in values.items() if not reasons[method]}
    fidelity = pd.DataFrame({"method": list(values), "points": len(chosen)})
    ranks = {method: correlation(v[chosen], marginals) for method, v in good.items()}
    fidelity["spearman"] = fidelity["method"].map(ranks).astype(float)
    soft, draws = RetrainedGame(model, "probability"), np.random.default_rng([seed, SHARES])
    worth, stderr = sampled_shapley(soft, chosen, coalitions, draws)
    ranks = {method: correlation(v[chosen], worth) for method, v in good.items()}
    fidelity["shapley"] = fidelity["method"].map(ranks).astype(float)
    fidelity["reliability_shapley"] = float(reliability(worth, stderr))
    rng = np.random.default_rng([seed, SUBSETS])
    lds = linear_datamodelling(game, good, rng, shares, subsets)
    on_pairs, stratum = audited_pairs(scores[PARTICIPATION], chosen, pairs, seed)
    sampled = pair_utilities(game, semivalue("loo", game.n), on_pairs, 1, rng)
    on_scale = scaled(scores, {PARTICIPATION}, chosen, marginals)
    certificates = _certify(sampled, on_scale, None, alpha, stratum)
    of_points = {method: s[chosen] for method, s in scores.items()}
    return {
        "fidelity": fidelity.assign(gap=fidelity["method"].map(reasons)),
        "datamodelling": lds,
        "certificates": certificates.assign(game="nddv", utility="log_likelihood"),
        "marginals": pd.DataFrame({"point": chosen, "marginal": marginals, **of_points}),
    }


def audit_bridge(
    problem: Problem,
    seed: int,
    settings: Mapping[str, Any],
    points: int,
    sizes: Sequence[float],
    intervals: int,
) -> pd.DataFrame:
    """The budget of Theorem continuous_inclusion_bridge for some points and coalitions.

    sizes : shares of the points in the coalitions, one coalition per share; 1 is all other points.
    """
    model = fit_nddv(problem, seed, "participation", {**settings, "dtype": "float64"})
    n = len(problem.y_train)
    rng = np.random.default_rng([seed, CONTEXTS])
    chosen = rng.choice(n, size=points, replace=False)
    ranks = np.stack([rng.permutation(n) for _ in sizes])
    coalitions = ranks < np.round(np.asarray(sizes) * n)[:, None]
    readouts = ("terminal", "participation")
    return bridge_budget(model, chosen, coalitions, intervals=intervals, readouts=readouts)
