"""Tables of the audits: means over seeds, units, published numbers, gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.audits import ABOUT, TABLES, cost, write_audit
from nddv.reporting.tables import Provenance

SAME = {"dataset": "bbc@minilm", "n": 100}
GAPS = [{**SAME, "dataset": "cifar10@resnet50", "corruption": "label10", "reason": "no file"}]


def errors():
    """Two seeds, noisy and clean; on the clean problem no scale fits in one seed."""
    readout = {"readout": "nddv-terminal", "title": "NDDV, terminal", "scale": "calibrated"}
    rows = []
    for seed in (100, 101):
        for corruption, size in (("label10", 2.0), ("clean", 1.0)):
            factor = np.nan if (corruption, seed) == ("clean", 101) else 3.0
            epsilon = np.nan if np.isnan(factor) else size + seed - 100
            terms = {"epsilon_ref": epsilon, "delta_ctx": 1.0, "envelope": 5.0}
            problem = {**SAME, "corruption": corruption, "seed": seed, "utility": "accuracy"}
            rows.append({**problem, **readout, "factor": factor, **terms, "loo_range": 2 * size})
    return pd.DataFrame(rows)


def published(**columns):
    return pd.DataFrame([{"dataset": "bbc", "corruption": "label10", **columns}])


def test_error_terms_are_in_units_of_the_noisy_problem_beside_the_published():
    printed = published(readout="nddv-terminal", epsilon_ref=0.04, epsilon_ref_sd=0.01)
    table = TABLES["epsilon_delta"]({"errors": errors()}, printed, GAPS)
    noisy, clean, gap = table.to_dict("records")
    assert noisy["epsilon_ref"] == pytest.approx((2 + 3) / 2 / 4)
    assert noisy["epsilon_ref_sd"] == pytest.approx(np.std([2 / 4, 3 / 4], ddof=1))
    assert noisy["published_epsilon_ref"] == 0.04
    assert noisy["dataset"] == "bbc@minilm"
    assert clean["epsilon_ref"] == pytest.approx(1 / 4)
    assert clean["note"] == "factor, epsilon_ref: in 1 of 2 seeds"
    assert noisy["note"] == ""
    assert np.isnan(clean["published_epsilon_ref"])
    assert gap["note"] == "no file"


def test_gaps_of_values_stand_beside_the_envelopes():
    gaps = errors()[[*SAME, "corruption", "seed", "utility", "loo_range"]]
    gaps = gaps.assign(gap_50=1.0, gap_75=2.0, gap_90=4.0)
    printed = published(gap_50=0.2, envelope=0.1)
    table = TABLES["value_gaps"]({"gaps": gaps, "errors": errors()}, printed, [])
    noisy, clean = table.to_dict("records")
    assert noisy["gap_90"] == clean["gap_90"] == 1.0
    assert noisy["envelope_terminal"] == pytest.approx(5 / 4)
    assert noisy["published_envelope"] == 0.1


def test_correlations_have_a_column_per_reference():
    rows = [
        {
            **SAME,
            **{"corruption": "label10", "utility": "accuracy", "title": method.upper()},
            **{"seed": seed, "method": method, "reference": reference},
            **{"spearman": 0.1 * (seed - 99), "reliability": 0.5},
            "gap": "ValueError: no" if (method, seed) == ("b", 101) else "",
        }
        for seed in (100, 101)
        for method in ("b", "a")
        for reference in ("loo", "shapley", "banzhaf")
    ]
    printed = pd.DataFrame(
        [
            {"dataset": "bbc", "corruption": "label10", "method": "a", "loo": 0.9, "loo_sd": 0.1},
            {"dataset": "2dplanes", "corruption": "clean", "method": "a", "loo": 0.3},
        ]
    )
    table = TABLES["rank_correlations"]({"ranks": pd.DataFrame(rows)}, printed, [])
    assert list(table["method"]) == ["b", "a", "a"]  # in the order of the rows; then the gap
    assert table.loc[1, "loo"] == pytest.approx(0.15)
    assert table.loc[1, "published_loo"] == 0.9
    assert np.isnan(table.loc[0, "published_loo"])
    assert "ValueError: no" in table.loc[0, "note"]
    assert table.loc[2, "dataset"] == "2dplanes"
    assert table.loc[2, "note"] == "not run in this configuration"


def test_datamodelling_has_a_column_per_share():
    rows = pd.DataFrame(
        [
            {
                **SAME,
                **{"corruption": "clean", "method": "a", "title": "A", "subsets": 50},
                **{"seed": seed, "share": share, "spearman": share + seed - 100},
            }
            for seed in (100, 101)
            for share in (0.01, 0.05, 0.1)
        ]
    )
    (row,) = TABLES["datamodelling"]({"datamodelling": rows}, None, []).to_dict("records")
    assert [row[f"lds_{share}"] for share in (1, 5, 10)] == pytest.approx([0.51, 0.55, 0.6])


def test_certificates_are_shares_of_pairs_over_seeds():
    bounds = ("hoeffding", "bernstein", "hoeffding_union", "bernstein_union")
    rows = pd.DataFrame(
        [
            {
                **SAME,
                **{"corruption": "label10", "game": "nddv", "utility": "log_likelihood"},
                **{"semivalue": "loo", "readout": "path", "seed": seed, "agrees": pair < 3},
                **{f"certified_{bound}": pair < seed - 99 for bound in bounds},
                "note": "no positive factor fits" if seed == 101 else "",
            }
            for seed in (100, 101)
            for pair in range(4)
        ]
    )
    (row,) = TABLES["certificates"]({"certificates": rows}, None, []).to_dict("records")
    assert row["hoeffding"] == pytest.approx((1 / 4 + 2 / 4) / 2)
    assert row["agreement"] == 0.75
    assert row["agreement_certified"] == 1.0
    assert row["pairs"] == 4
    assert row["note"] == "no positive factor fits in 1 of 2 seeds"


def test_fidelity_shows_the_smallest_of_the_seeds():
    rows = pd.DataFrame(
        [
            {
                **SAME,
                **{"corruption": "clean", "method": "a", "title": "A", "points": 6, "gap": ""},
                **{"seed": 100 + k, "spearman": spearman},
            }
            for k, spearman in enumerate((0.9, 0.7))
        ]
    )
    (row,) = TABLES["retraining_fidelity"]({"fidelity": rows}, None, []).to_dict("records")
    assert row["spearman"] == pytest.approx(0.8)
    assert row["smallest"] == 0.7


def test_cost_is_told_in_fits_a_second():
    assert "1,500 coalitions were fitted in 3 s of one core, 500 a second" in cost(
        [{"fits": 1000, "seconds": 2.0}, {"fits": 500, "seconds": 1.0}]
    )
    assert cost([{"fits": 0, "seconds": 2.0}]) == "All coalitions were found in the cache."


def test_a_written_table_says_what_its_numbers_are(tmp_path):
    table = TABLES["epsilon_delta"]({"errors": errors()}, None, GAPS)
    provenance = Provenance("abc123", [100, 101])
    stem = tmp_path / "epsilon_delta"
    paths = write_audit(stem, "epsilon_delta", table, "Errors", provenance, "Nine fits.")
    text = paths[1].read_text()
    assert "discrepancy at the reference coalition" in text
    assert "max − min over points of the leave-one-out marginals" in text
    assert "Nine fits." in text
    assert "abc123" in text
    assert "0.625 ± 0.177" in text
    assert "no file" in text
    assert set(ABOUT) == set(TABLES)
