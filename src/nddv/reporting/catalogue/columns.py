"""Columns of tables: each heading once."""

from __future__ import annotations

HEADINGS = {
    **{"dataset": "Data set", "n": "n", "corruption": "Corruption", "title": "Method"},
    **{"note": "Note", "runs": "Runs"},
    # detection and curation
    **{"f1": "F1", "baseline_title": "Best baseline", "baseline_f1": "Its F1", "ahead": "Ahead by"},
    **{"wins": "Wins", "leads": "Leads", "parameter": "Parameter", "setting": "Setting"},
    **{"is_default": "Default", "area": "Area under curve"},
    **{"largest_ratio": "Largest of all seeds", "seed": "By seed"},
    **{"remove_low": "Remove lowest (good: +)", "remove_high": "Remove highest (good: −)"},
    **{"add_high": "Add highest (good: +)", "add_low": "Add lowest (good: −)"},
    # data sets
    **{"type": "Type", "rows": "Rows", "features": "Dimension", "classes": "Classes"},
    **{"minority": "Smallest class", "group": "Group", "encoder": "Encoder"},
    **{"source": "Source used", "checksum": "Checksum", "deviations": "Departures from the paper"},
    # groups
    **{"partition": "Groups", "reweighting": "Weights", "rule": "Rule", "score_gap": "ε, in sd"},
    **{"epsilon_u": "ε_U", "scaled_epsilon_u": "N/(N − 1)·ε_U", "d_phi": "D̂_φ"},
    **{"d_phi_sd_units": "D̂_φ, in sd", "weight_range": "Δ_V", "slope_tpr": "L̂_TPR"},
    **{"slope_fpr": "L̂_FPR", "predicted_dtpr": "Predicted DTPRGap"},
    **{"predicted_deo": "Predicted DEOGap", "dtpr": "DTPRGap", "dtpr_floor": "Floor of DTPRGap"},
    **{"dtpr_within": "DTPRGap within", "deo": "DEOGap", "deo_floor": "Floor of DEOGap"},
    **{"deo_within": "DEOGap within", "recall": "TPR"},
    # audits
    **{"game": "Game", "utility": "Utility", "semivalue": "Semi-value", "scale": "Scale"},
    **{"epsilon_ref": "ε̂_ref", "delta_ctx": "δ̂_ctx", "envelope": "2ε̂_ref + δ̂_ctx"},
    **{"gap_50": "Median gap", "gap_75": "75th percentile", "gap_90": "90th percentile"},
    **{"envelope_terminal": "2ε̂_ref + δ̂_ctx, terminal"},
    **{"envelope_path": "2ε̂_ref + δ̂_ctx, path"},
    **{"envelope_participation": "2ε̂_ref + δ̂_ctx, participation"},
    **{"envelope_participation_raw": "2ε̂_ref + δ̂_ctx, participation, raw"},
    **{"envelope_zero": "2ε̂_ref + δ̂_ctx, zero", "published_envelope": "Envelope in the paper"},
    **{"loo": "ρ with LOO", "shapley": "ρ with Shapley", "banzhaf": "ρ with Banzhaf"},
    **{"reliability_shapley": "Reliability of Shapley"},
    **{"reliability_banzhaf": "Reliability of Banzhaf", "pairs": "Pairs", "hoeffding": "Hoeffding"},
    **{"bernstein": "Bernstein", "hoeffding_union": "Hoeffding, all pairs"},
    **{"bernstein_union": "Bernstein, all pairs", "resolved": "Order known"},
    **{"agreement": "Agreement", "agreement_certified": "Agreement of certified"},
    **{"points": "Points", "spearman": "ρ with LOO retraining of the same model"},
    **{"smallest": "Smallest of the seeds", "lds_1": "Drop 1 %", "lds_5": "Drop 5 %"},
    **{"lds_10": "Drop 10 %", "subsets": "Subsets"},
    # run times
    **{"valid": "Validation rows", "seconds": "Seconds"},
    **{"estimate": "Seconds, measured or extrapolated", "ratio": "Times NDDV, terminal"},
    **{"published_ratio": "Times NDDV, published", "exponent": "Exponent of n"},
    **{"peak_memory_mb": "Peak memory (MB)"},
    # claims
    **{"claim": "Claim", "where": "Where", "numbers": "Numbers", "score": "Score"},
    **{"check": "Check", "case": "Case", "left": "Left side", "left_whose": "Whose"},
    **{"operator": "Operator", "right": "Right side", "right_whose": "Whose, right"},
    **{"tolerance": "Tolerance", "outcome": "Outcome"},
}
"""Column -> heading; ``published_<column>`` and ``<column>_paper`` are "... in the paper"."""


def columns(shown: str, csv_only: str = "", **headings: str) -> dict[str, str]:
    """The columns of a table.

    Parameters
    ----------
    shown : names, with spaces between them, in the order of the text.
    csv_only : names of columns that the text does not show.
    headings : other headings than those of `HEADINGS`.
    """
    named = {name: headings.get(name) or _heading(name) for name in shown.split()}
    return named | dict.fromkeys(csv_only.split(), "")


def _heading(name: str) -> str:
    if name in HEADINGS:
        return HEADINGS[name]
    return HEADINGS[name.removeprefix("published_").removesuffix("_paper")] + " in the paper"
