"""Long tables are laid out as a reader compares them; nothing that was found is lost."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nddv.reporting.catalogue.tables import TABLES, experiment_table
from nddv.reporting.claims import SCORES
from nddv.reporting.registry import Table
from nddv.reporting.tables.datasets import dataset_table
from nddv.reporting.writing import lay_out

PROBLEM = {"dataset": "a", "n": 1000, "corruption": "clean"}
GAP = {"dataset": "far", "n": 1000, "corruption": "clean", "note": "no file"}


def rows_of(text):
    return [dict(zip(text.columns, row, strict=True)) for row in text.rows]


def certificate(score, share, semivalue="loo", **more):
    law = {"game": "logistic", "utility": "accuracy", "semivalue": semivalue}
    bounds = {"bernstein": share, "bernstein_sd": 0.02 if share else 0.0, "hoeffding": share}
    return {**PROBLEM, **law, "readout": score, "title": score, **bounds, "pairs": 16, **more}


def test_certificates_have_scores_across_and_say_where_nothing_is_certain():
    frame = pd.DataFrame(
        [
            certificate("nddv-path", 0.0),
            certificate("samples-only", 0.5),
            certificate("nddv-path", 0.0, "shapley"),
            certificate("samples-only", 0.0, "shapley"),
            GAP,
        ]
    )
    text = lay_out(TABLES["certificates"], frame)
    assert rows_of(text) == [
        {
            **{"Data set": "a", "Game": "logistic", "Utility": "accuracy", "Semi-value": "loo"},
            **{"nddv-path": "0", "samples-only": "0.500 ± 0.020"},
        }
    ]
    told = " ".join(text.footnotes)
    assert "on any data set, for: logistic, accuracy, shapley." in told
    assert "far, clean: no file." in told
    seen = frame.assign(hoeffding=[0, 0.5, 0, 0.1, np.nan])  # by another bound
    assert len(lay_out(TABLES["certificates"], seen).rows) == 2


def test_certificates_in_context_have_semivalues_across():
    frame = pd.DataFrame(
        [
            {
                **{**PROBLEM, "utility": "accuracy", "semivalue": law, "note": note},
                **{"certified_one": one, "certified_all": 0.25, "reliability": 0.9},
            }
            for law, one, note in (("shapley", 0.75, "seed 1 failed"), ("banzhaf", 0.5, np.nan))
        ]
    )
    text = lay_out(TABLES["context_certificates"], frame)
    (row,) = rows_of(text)
    assert row["shapley: one pair"] == "0.750"
    assert row["banzhaf: one pair"] == "0.500"
    assert row["banzhaf: all pairs"] == "0.250"
    assert "a accuracy shapley: seed 1 failed." in text.footnotes


def test_semivalues_have_budgets_across_and_those_without_last():
    frame = pd.DataFrame(
        [
            {
                **{**PROBLEM, "semivalue": "shapley", "method": m, "title": m, "budget": budget},
                **{"disattenuated": r, "certified_one": r, "certified_all": 0.1, "note": note},
            }
            for m, budget, r, note in (
                ("level", np.nan, 0.9, np.nan),
                ("sampled", 0.5, np.nan, "no values before 1 s"),
                ("sampled", 2.0, 0.7, np.nan),
            )
        ]
        + [GAP]
    )
    text = lay_out(TABLES["semivalue_accuracy"], frame)
    assert text.columns[-3:] == ("0.5 s", "2 s", "no budget")
    assert [row[-4:] for row in text.rows] == [
        ("level", "", "", "0.900"),
        ("sampled", "—", "0.700", ""),
    ]
    assert "far, clean: no file." in text.footnotes
    shares = lay_out(TABLES["certified_shares"], frame)
    assert "0.5 s: one pair" in shares.columns
    assert "2 s: all pairs" in shares.columns


def test_of_several_data_sets_the_mean_comes_first():
    entry = experiment_table("rates", "Rates", "corruption")
    frame = pd.DataFrame(
        [
            {
                **{"dataset": d, "n": 10, "corruption": c, "method": m, "title": m, "f1": f1},
                **{"f1_sd": 0.2, "published": np.nan, "note": ""},
            }
            for d, c, m, f1 in (
                *(("a", "label5", "loo", 0.2), ("a", "label10", "loo", 0.4)),
                *(("a", "label10", "ame", 0.9), ("b", "label10", "loo", 0.6)),
            )
        ]
    )
    text = lay_out(entry, frame)
    assert text.columns == ("Data set", "Method", "label5", "label10")
    assert text.rows[0] == ("mean of 2", "loo", "", "**0.50 ± 0.14**")
    assert [row[:2] for row in text.rows[1:]] == [("a", "loo"), ("a", "ame"), ("b", "loo")]
    alone = lay_out(entry, frame[frame["dataset"] == "a"])
    assert "mean" not in str(alone.rows)


def test_printed_numbers_stand_in_brackets():
    columns = {"x": "X", "published_x": "X in the paper", "rows": "R", "rows_paper": "", "y": "Y"}
    entry = Table(
        **{"name": "t", "title": "T", "caption": "", "part": "p", "function": "m:f", "reads": {}},
        columns=columns,
        about="About.",
    )
    frame = pd.DataFrame(
        {"x": [0.5, np.nan, 0.7], "published_x": [0.25, 11.125, np.nan], "y": [1234.5, 11.14, 1.5]}
    )
    text = lay_out(entry, frame)
    assert text.columns == ("X", "Y")
    assert [row[0] for row in text.rows] == ["0.500 [0.250]", "— [11.1]", "0.700"]
    assert [row[1] for row in text.rows] == ["1234", "11.1", "1.50"]  # three digits
    assert text.footnotes == ("About.", "In brackets: the number that the paper prints.")


def test_cases_of_claims_have_scores_across():
    row = {
        **{"claim": "faster", "check": 1, "case": "a", "outcome": "holds", "method": "nddv-path"},
        **{"left": 0.9, "left_sd": np.nan, "left_whose": np.nan, "operator": ">=", "right": 0.5},
        **{"right_sd": np.nan, "right_whose": np.nan, "times": 1.0, "plus": 0.0, "tolerance": 0.0},
        **{"stands_for": np.nan, "note": np.nan, "score": "paper"},
    }
    text = lay_out(
        TABLES["claim_cases"],
        pd.DataFrame(
            [
                row,
                {**row, "score": "ours", "outcome": "fails", "left": 0.1},
                {**row, "case": "tiny", "stands_for": "large", "outcome": "not run"},
            ]
        ),
    )
    assert text.columns[3:] == tuple(score.title for score in SCORES)
    assert text.rows == (
        *(
            (
                "faster",
                "1",
                "a",
                "0.9, expected at least 0.5 ✓",
                "",
                "0.1, expected at least 0.5 ✗",
            ),
        ),
        ("faster", "1", "tiny (for large)", "not run", "", ""),
    )


def test_data_sets_of_local_files_are_named():
    summary = {
        **{"title": "T", "data": "table", "rows": 9, "features": 2, "classes": 2, "minority": 0.5},
        **{"group": "", "source": "x", "checksum": "none known", "notes": []},
    }
    kinds = {"mine": "local", "drawn": "generated", "yours": "local"}
    summaries = [{**summary, "dataset": name, "kind": kind} for name, kind in kinds.items()]
    published = pd.DataFrame(columns=["dataset", "encoder"])
    result = dataset_table(summaries, [], published, [])
    assert result.frame["dataset"].tolist() == list(kinds)
    (note,) = result.notes
    assert "NDDV_DATA names: mine, yours." in note
    assert dataset_table(summaries[1:2], [], published, []).notes == ()
