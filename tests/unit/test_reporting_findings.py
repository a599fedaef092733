"""Findings: counts and words follow the numbers, whatever they are; gaps leave a finding out."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import numpy as np
import pandas as pd
import pytest
import yaml

from nddv.reporting import findings
from nddv.reporting.dots import Dots, lay_out_dots
from nddv.reporting.findings import MOST, agrees, find

ROOT = Path(__file__).parents[2]
ENTRIES = yaml.safe_load((ROOT / "config/report.yaml").read_text("utf-8"))["findings"]["contents"]
PROBLEM = {"n": 1000, "corruption": "label10"}


def detection_rows(**f1):
    """Rows of two data sets: name of a method -> its F1 on both."""
    return pd.DataFrame(
        {"dataset": name, **PROBLEM, "method": method.replace("_", "-"), "f1": value, "f1_sd": 0.06}
        for method, values in f1.items()
        for name, value in zip(("a", "b"), values, strict=True)
    )


DETECTION = detection_rows(
    nddv_path=(0.8, 0.4),
    nddv_terminal=(0.5, 0.6),
    knn_shapley=(0.7, 0.3),
    loo=(0.1, 0.5),
    random=(0.99, 0.99),
    nddv_released=(0.99, 0.99),
    chance=(0.1, 0.1),
    ceiling=(1.0, 1.0),
)
RETRAINING = pd.DataFrame(
    {"dataset": d, **PROBLEM, "method": m, "title": m, "spearman": rho, "spearman_sd": 0.1}
    for d, m, rho in (
        *(("a", "nddv-participation", 0.99), ("a", "nddv-terminal", 0.3)),
        *(("b", "nddv-participation", 0.95), ("b", "nddv-terminal", 0.97)),
        ("c", "nddv-participation", 0.1),  # without the paper's score: not compared
    )
)
RANKS = pd.DataFrame(
    {
        **{"dataset": "a", **PROBLEM, "method": "nddv-terminal", "utility": utility},
        **{"shapley": rho, "shapley_sd": 0.02, "reliability_shapley": 0.9},
        **{"published_shapley": 0.8, "published_shapley_sd": 0.02},
    }
    for utility, rho in (("accuracy", 0.78), ("log_likelihood", -0.1))
)
SECONDS = pd.DataFrame(
    {"dataset": "a", **PROBLEM, "semivalue": "shapley", "method": m, "to_target": s}
    for m, s in (("shapley-level", 0.5), ("predicted-marginals", 2.0), ("permutations", 1234.0))
)
SHARES = pd.DataFrame(
    {
        **{"dataset": "a", "method": "two-level-marginals", "budget": budget},
        **{"certified_one": share, "certified_all": share / 2, "agreement": 1.0},
    }
    for budget, share in ((2.0, 0.1), (20.0, 0.6))
)
TIMES = pd.DataFrame(
    {"n": n, "method": m, "valid": v, "seconds": s, "seconds_sd": np.nan, "exponent": e}
    for n, m, v, s, e in (
        *((1000, "nddv-terminal", "fixed", 2.0, 0.8), (10**5, "nddv-terminal", "fixed", 50.0, 0.8)),
        *((10**5, "nddv-terminal", "tenth", 50.0, 0.8), (10**5, "knn-shapley", "fixed", 3.0, 1.1)),
        *((10**5, "knn-shapley", "tenth", 196.7, 1.98), (10**6, "knn-shapley", "fixed", 60.0, 1.1)),
    )
)
RUN_TIMES = pd.DataFrame(
    {
        "method": ["nddv-terminal", "nddv-path", "loo", "knn-shapley"],
        "runs": 40,
        "median_seconds": [1.2345, 2.0, 30.0, 0.1],
    }
)
FRAMES = {
    "detection_n1000": DETECTION,
    "retraining_fidelity": RETRAINING,
    "rank_correlations": RANKS,
    "semivalue_seconds": SECONDS,
    "certified_shares": SHARES,
    "wallclock_scaling": TIMES,
    "run_times": RUN_TIMES,
}


def series(dots):
    return list(dict.fromkeys(dots.points["series"]))


def test_detection_counts_leads_over_the_best_other_method():
    words, dots = findings.detection(DETECTION)
    assert (words["path_leads"], words["paper_leads"], words["problems"]) == ("1", "1", "2")
    # of independent data sets the spread of the mean is 0.06 / √2
    assert words["path"] == "0.60 ± 0.04"
    assert words["best"] == "0.60 ± 0.04"  # 0.7 and 0.5: neither chance, nor a ceiling, nor NDDV
    assert words["n"] == "1,000"
    assert series(dots)[2:] == ["best other method", "chance"]
    tie = detection_rows(nddv_path=(0.5, 0.5), nddv_terminal=(0, 0), loo=(0.5, 0.5), chance=(0, 0))
    assert findings.detection(tie)[0]["path_leads"] == "0"


def test_retraining_compares_on_the_same_problems():
    words, dots = findings.retraining(RETRAINING)
    assert words["problems"] == "2"
    assert words["derivative_agrees"] == "almost perfectly"
    assert words["higher"] == "1"
    assert words["terminal"] == "0.64 ± 0.07"
    assert len(dots.points) == 4
    networks = RETRAINING.assign(module="mlp").replace(
        {"method": {"nddv-participation": "replay", "nddv-terminal": "terminal-pairing"}}
    )
    assert findings.retraining(networks)[0] == words


@pytest.mark.parametrize(
    ("correlation", "word"),
    [
        *((0.95, "almost perfectly"), (0.9, "almost perfectly"), (0.7, "strongly")),
        *((0.69, "moderately"), (0.2, "weakly"), (0.19, "hardly"), (-0.19, "hardly")),
        (-0.2, "in reverse"),
    ],
)
def test_words_follow_the_correlation(correlation, word):
    assert agrees(correlation) == word


def test_ranks_stand_beside_the_printed_ones():
    words, dots = findings.ranks(RANKS)
    assert (words["within"], words["cases"]) == ("1", "2")
    assert (words["printed"], words["measured"]) == ("0.8", "−0.1 to 0.78")
    assert series(dots) == ["measured, accuracy", "measured, log-likelihood", "printed"]
    assert len(dots.points) == 3  # the printed number once


def test_semivalues_take_the_quickest_and_the_largest_budget():
    words, _ = findings.semivalues(SECONDS, SHARES)
    assert (words["seconds"], words["usual_seconds"]) == ("0.5", "1,200")
    assert words["quicker"] == "2,500"
    assert (words["budget"], words["certain_one"]) == ("20", "0.60")


def test_growth_is_told_where_all_were_measured():
    words, dots = findings.growth(TIMES)
    assert (words["n"], words["nddv"], words["tenth"]) == ("100,000", "50.0", "197")
    assert words["tenth_growth"] == " (growing as n^1.98)"
    alone = findings.growth(TIMES.assign(exponent=np.nan))[0]  # of one size only
    assert alone["tenth_growth"] == ""
    assert dots.points["label"].tolist() == ["n = 1,000"] + ["n = 100,000"] * 3
    assert findings.growth(TIMES[TIMES["n"] < 10**5]) is None


def test_seconds_of_this_run():
    words, dots = findings.run_seconds(RUN_TIMES)
    assert words == {"seconds": "1.23", "runs": "40", "slower": "1", "others": "2"}
    assert len(dots.points) == 4


def test_the_first_five_are_shown_and_what_is_missing_is_named():
    shown, absent = find(ENTRIES, FRAMES)
    assert len(shown) == MOST == 5
    assert absent == []
    few, absent = find(ENTRIES, {"run_times": RUN_TIMES, "detection_n1000": DETECTION})
    assert [finding.title for finding in few] == ["Finding wrong labels", "Seconds of a valuation"]
    assert len(absent) == len(ENTRIES) - 2
    nothing = DETECTION.assign(f1=np.nan)  # the table was made, and is all gaps
    assert find(ENTRIES, {"detection_n1000": nothing})[0] == []


def test_every_finding_of_the_project_has_all_its_words():
    """Each entry, with the numbers of a table, gives a sentence without braces."""
    frames = {**FRAMES, "module_fidelity": RETRAINING.assign(module="mlp")}
    for entry in ENTRIES:
        (finding,), _ = find([entry], frames)
        named = {name for _, name, _, _ in Formatter().parse(entry["sentence"]) if name}
        assert named
        assert "{" not in finding.sentence
        assert "nan" not in finding.sentence


# ------------------------------------------------------------------ the picture


def test_dots_stand_at_their_places():
    points = pd.DataFrame(
        {"label": ["a", "a", "b"], "series": ["x", "y", "x"], "value": [0.5, 1.0, -0.2]}
    ).assign(sd=[0.1, np.nan, np.nan])
    picture = lay_out_dots(Dots(points, "ρ"))
    assert picture.series == ("x", "y")
    assert picture.ticks == ((0, ""), (20, "0"), (40, ""), (60, "0.5"), (80, ""), (100, "1"))
    (_, (x, y)), (label, (z,)) = picture.rows
    assert (x.place, x.low, x.width, x.text) == (60, 52, 16, "x: 0.50 ± 0.10")
    assert (y.place, y.width, y.series) == (100, 0, 1)
    assert (label, z.place) == ("b", 4)


def test_a_logarithmic_picture_has_powers_of_ten_and_stands_large_spreads():
    points = pd.DataFrame({"label": ["a", "b"], "series": "s", "value": [1.0, 100.0]})
    picture = lay_out_dots(Dots(points.assign(sd=[2.0, np.nan]), "seconds", log=True))
    assert picture.ticks == ((0, "1"), (50, "10"), (100, "100"))
    dot = picture.rows[0][1][0]
    assert (dot.place, dot.low) == (0, 0)
    assert 0 < dot.width < 50
    one = lay_out_dots(Dots(points[:1], "seconds", log=True))
    assert one.ticks == ((0, "1"), (100, "10"))
    many = lay_out_dots(Dots(points.assign(value=[0.002, 50.0]), "seconds", log=True))
    assert [text for _, text in many.ticks] == ["0.001", "", "0.1", "", "10", ""]
