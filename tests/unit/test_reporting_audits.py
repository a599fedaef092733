"""Tables of the audits: means over seeds, units, published numbers, gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.registry import Result
from nddv.reporting.tables.audits import cost

SAME = {"dataset": "bbc@minilm", "n": 100}
GAPS = [{**SAME, "dataset": "cifar10@resnet50", "corruption": "label10", "reason": "no file"}]
NOTHING = pd.DataFrame()


def table(name, **inputs):
    """The rows of a table, of few points."""
    if "records" in TABLES[name].reads:
        inputs["records"] = [{"fits": 9, "seconds": 3.0}]
    result = TABLES[name].load()(**inputs)
    return result.frame if isinstance(result, Result) else result


def errors():
    """Two seeds, noisy and clean; on the clean problem no scale fits in one seed."""
    readout = {"readout": "nddv-terminal", "scale": "calibrated"}
    rows = []
    for seed in (100, 101):
        for corruption, size in (("label10", 2.0), ("clean", 1.0)):
            factor = np.nan if (corruption, seed) == ("clean", 101) else 3.0
            epsilon = np.nan if np.isnan(factor) else size + seed - 100
            terms = {"epsilon_ref": epsilon, "delta_ctx": 1.0, "envelope": 5.0}
            problem = {**SAME, "corruption": corruption, "seed": seed, "utility": "accuracy"}
            ranks = {"spearman": 0.2, "reliability": 0.25, "disattenuated": np.nan, "capped": False}
            if corruption == "label10":
                ranks |= {"reliability": 0.64, "disattenuated": 0.25, "capped": seed == 100}
            units = {"factor": factor, **terms, "loo_range": 2 * size}
            rows.append({**problem, **readout, **units, **ranks})
    return pd.DataFrame(rows)


def published(**columns):
    return pd.DataFrame([{"dataset": "bbc", "corruption": "label10"} | columns])


def test_error_terms_are_in_units_of_the_noisy_problem_beside_the_published():
    printed = published(readout="nddv-terminal", epsilon_ref=0.04, epsilon_ref_sd=0.01)
    rows = table("epsilon_delta", errors=errors(), published=printed, gaps=GAPS)
    noisy, clean, gap = rows.to_dict("records")
    assert noisy["epsilon_ref"] == pytest.approx((2 + 3) / 2 / 4)
    assert noisy["epsilon_ref_sd"] == pytest.approx(np.std([2 / 4, 3 / 4], ddof=1))
    assert noisy["published_epsilon_ref"] == 0.04
    assert noisy["dataset"] == "bbc@minilm"
    assert noisy["title"] == "NDDV, terminal (the paper's score)"
    assert clean["epsilon_ref"] == pytest.approx(1 / 4)
    too_noisy = "no disattenuated ρ, reliability below 0.3: in 2 seeds"
    assert clean["note"] == f"factor, epsilon_ref: in 1 of 2 seeds; {too_noisy}"
    assert noisy["note"] == "disattenuated ρ capped at ±1: in 1 seeds"
    assert (noisy["spearman"], noisy["disattenuated"]) == pytest.approx((0.2, 0.25))
    assert noisy["reliability"] == 0.64
    assert np.isnan(clean["disattenuated"])
    assert np.isnan(clean["published_epsilon_ref"])
    assert gap["note"] == "no file"


def test_gaps_of_values_stand_beside_the_envelopes():
    gaps = errors()[[*SAME, "corruption", "seed", "utility", "loo_range"]]
    gaps = gaps.assign(gap_50=1.0, gap_75=2.0, gap_90=4.0)
    printed = published(gap_50=0.2, envelope=0.1)
    rows = table("value_gaps", value_gaps=gaps, errors=errors(), published=printed)
    noisy, clean = rows.to_dict("records")
    assert noisy["gap_90"] == clean["gap_90"] == 1.0
    assert noisy["envelope_terminal"] == pytest.approx(5 / 4)
    assert noisy["published_envelope"] == 0.1


def test_correlations_have_a_column_per_reference():
    rows = [
        {
            **SAME,
            **{"corruption": "label10", "utility": "accuracy"},
            **{"seed": seed, "method": method, "reference": reference},
            **{"spearman": 0.1 * (seed - 99), "reliability": 0.5},
            **{"disattenuated": 0.2 * (seed - 99), "capped": reference == "banzhaf"},
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
    found = table("rank_correlations", ranks=pd.DataFrame(rows), published=printed)
    assert list(found["method"]) == ["b", "a", "a"]  # in the order of the rows; then the gap
    assert found.loc[1, "loo"] == pytest.approx(0.15)
    assert found.loc[1, "shapley"] == pytest.approx(0.15)
    assert found.loc[1, "disattenuated_shapley"] == pytest.approx(0.3)
    assert found.loc[1, "disattenuated_shapley_sd"] == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert found.loc[1, "reliability_banzhaf"] == 0.5
    assert found.loc[1, "note"] == "disattenuated ρ capped at ±1 (banzhaf): in 2 seeds"
    assert found.loc[1, "published_loo"] == 0.9
    assert np.isnan(found.loc[0, "published_loo"])
    assert "ValueError: no" in found.loc[0, "note"]
    assert found.loc[2, "dataset"] == "2dplanes"
    assert found.loc[2, "note"] == "not run in this configuration"


def test_datamodelling_has_a_column_per_share():
    rows = pd.DataFrame(
        [
            {
                **SAME,
                **{"corruption": "clean", "method": "a", "subsets": 50},
                **{"seed": seed, "share": share, "spearman": share + seed - 100},
            }
            for seed in (100, 101)
            for share in (0.01, 0.05, 0.1)
        ]
    )
    (row,) = table("datamodelling", scores=rows).to_dict("records")
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
    (row,) = table("certificates", rows=rows).to_dict("records")
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
                **{"corruption": "clean", "method": "a", "points": 6, "gap": ""},
                **{"seed": 100 + k, "spearman": spearman},
                **{"shapley": 0.5, "reliability_shapley": 0.9},
            }
            for k, spearman in enumerate((0.9, 0.7))
        ]
    )
    (row,) = table("retraining_fidelity", fidelity=rows).to_dict("records")
    assert row["spearman"] == pytest.approx(0.8)
    assert row["smallest"] == 0.7
    assert (row["shapley"], row["reliability_shapley"]) == (0.5, 0.9)


def test_cost_is_told_in_fits_a_second():
    assert "1,500 coalitions were fitted in 3 s of one core, 500 a second" in cost(
        [{"fits": 1000, "seconds": 2.0}, {"fits": 500, "seconds": 1.0}]
    )
    assert cost([{"fits": 0, "seconds": 2.0}]) == "All coalitions were found in the cache."


def test_what_cannot_be_audited_keeps_the_published_numbers():
    printed = published(dataset="cifar10", readout="nddv-terminal", epsilon_ref=0.05)
    gaps = [*GAPS, {**SAME, "dataset": "mine", "corruption": "clean", "reason": "no table"}]
    rows = table("epsilon_delta", errors=errors(), published=printed, gaps=gaps)
    told, bare = rows.to_dict("records")[2:]
    assert (told["dataset"], told["note"]) == ("cifar10@resnet50", "no file")
    assert told["published_epsilon_ref"] == 0.05
    assert (bare["dataset"], bare["note"]) == ("mine", "no table")


def test_a_written_table_says_what_its_numbers_are(written):
    entry = TABLES["epsilon_delta"]
    records = [{"fits": 9, "seconds": 3.0}]
    result = entry.load()(errors=errors(), published=NOTHING, records=records, gaps=GAPS)
    _, text, record = written(entry, result)
    assert "discrepancy at the reference coalition" in text
    assert "max − min over points of the leave-one-out marginals" in text
    assert record["notes"][0].startswith("9 coalitions were fitted in 3 s")
    assert record["notes"][0] in text
    assert "abc123" in text
    assert "0.62 ± 0.18" in text
    assert "no file" in text
