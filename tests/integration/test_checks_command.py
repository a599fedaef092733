"""The command line tells wrong labels, keeps a run, and scores rows that come later."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nddv
from nddv.cli import main

N, WRONG = 240, 20


def make_table(n, seed):
    """Three classes by two numbers and a category; no row is doubtful."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "key": np.arange(n) + 1000,
            "x1": rng.normal(size=n) + 4 * (y == 1),
            "x2": rng.normal(size=n) + 4 * (y == 2),
            "city": rng.choice(["Oslo", "Rome"], n),
            "y": np.array(["a", "b", "c"])[y],
        }
    )
    return table


@pytest.fixture(scope="module")
def valued(tmp_path_factory):
    """A folder in which a table with wrong labels was valued, and the run kept."""
    folder = tmp_path_factory.mktemp("valued")
    table = make_table(N, 0)
    truth = table["y"].copy()
    wrong = np.random.default_rng(1).choice(N, WRONG, replace=False)
    table.loc[wrong, "y"] = truth[wrong].map({"a": "b", "b": "c", "c": "a"})
    table.to_csv(folder / "data.csv", index=False)
    words = ["value", f"{folder}/data.csv", "--target", "y", "--id", "key", "--group", "city"]
    words += ["--out", f"{folder}/values.csv", "--save", f"{folder}/run", "--epochs", "8"]
    assert main(words) == 0
    return folder, truth, np.isin(np.arange(N), wrong)


@pytest.fixture
def inside(valued, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return valued[0]


def test_wrong_labels_are_flagged_and_mended(valued):
    folder, truth, wrong = valued
    result = pd.read_csv(folder / "values.csv")
    flagged = result["flag"] == 1
    assert (flagged == (result["p_wrong"] > 0.5)).all()
    assert wrong[flagged].mean() > 0.9
    assert flagged[wrong].mean() > 0.8
    assert (result["suggested"] == truth)[flagged & wrong].all()
    assert (result["suggested"] == pd.read_csv(folder / "data.csv")["y"])[~flagged].all()
    assert result["p_suggested"].between(0, 1).all()
    assert result["key"].tolist() == list(range(1000, 1000 + N))


def test_the_record_has_the_number_of_wrong_labels_by_class(valued):
    check = json.loads((valued[0] / "values.json").read_text())["check"]
    wrong = check["wrong"]
    assert wrong["low"] <= WRONG <= wrong["high"]
    assert sum(c["wrong"] for c in check["classes"]) == pytest.approx(wrong["count"])
    assert {g["column"] for g in check["groups"]} == {"y", "city"}
    assert len(check["answer"]) == 3
    assert f"of {N} labels look wrong" in check["answer"][0]


def test_new_rows_are_scored(inside, capsys):
    new = make_table(60, 5)
    truth = new["y"].copy()
    new.loc[:4, "y"] = truth[:5].map({"a": "b", "b": "c", "c": "a"})
    new.to_csv("new.csv", index=False)
    assert main(["score", "new.csv", "--run", f"{inside}/run", "--id", "key"]) == 0
    scores = pd.read_csv("new.scores.csv")
    assert list(scores) == ["row", "key", "value", "p_wrong", "suggested", "p_suggested"]
    assert (scores["p_wrong"][:5] > 0.5).sum() >= 4
    assert (scores["p_wrong"][5:] > 0.5).sum() <= 2
    assert (scores["suggested"] == truth).mean() > 0.95
    out = capsys.readouterr().out
    assert "60 rows scored in" in out
    assert "more likely wrong than right" in out


def test_rows_without_labels_get_suggestions(inside):
    new = make_table(20, 6)
    new.drop(columns=["y", "key"]).to_csv("new.csv", index=False)
    assert main(["score", "new.csv", "--run", f"{inside}/run"]) == 0
    scores = pd.read_csv("new.scores.csv")
    assert list(scores) == ["row", "suggested", "p_suggested"]
    assert (scores["suggested"] == new["y"]).mean() > 0.9


def test_rows_that_the_run_cannot_judge_are_named(inside, capsys):
    new = make_table(10, 7)
    new.loc[2, "city"] = "Atlantis"
    new.loc[5, "y"] = "z"
    new.to_csv("new.csv", index=False)
    assert main(["score", "new.csv", "--run", f"{inside}/run"]) == 0
    assert pd.read_csv("new.scores.csv")["row"].tolist() == [1, 2, 4, 5, 7, 8, 9, 10]
    err = capsys.readouterr().err
    assert "row 3 (city is 'Atlantis'" in err
    assert "row 6 (y is 'z', which is no class of the run)" in err


def test_python_scores_as_the_command_line_does(inside):
    new = make_table(15, 8)
    new.to_csv("new.csv", index=False)
    assert main(["score", "new.csv", "--run", f"{inside}/run", "--quiet"]) == 0
    scored = nddv.load_run(inside / "run").score(new, new["y"])
    np.testing.assert_allclose(scored["p_wrong"], pd.read_csv("new.scores.csv")["p_wrong"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "new.csv", "--run", "nowhere"], "nowhere holds no run"),
        (["score", "new.csv", "--run", "RUN", "--out", "new.csv"], "is an input"),
        (["score", "none.csv", "--run", "RUN"], "none.csv"),
        (["score", "short.csv", "--run", "RUN"], "'city'"),
        (["value", "new.csv", "--target", "y", "--save", "RUN"], "holds a run already"),
        (["value", "new.csv", "--target", "y", "--save", "."], "holds no run: name another folder"),
        (["value", "new.csv", "--target", "y", "--save", "r", "--flag", "0.1"], "--flag auto"),
        (["value", "new.csv", "--target", "y", "--group", "sex"], "'sex'"),
        (["value", ".", "--stream", "always"], "not read in pieces"),
    ],
)
def test_mistakes_are_one_line(inside, capsys, words, message):
    new = make_table(12, 9)
    new.to_csv("new.csv", index=False)
    new.drop(columns="city").to_csv("short.csv", index=False)
    before = set(Path().iterdir())
    assert main([word.replace("RUN", f"{inside}/run") for word in words]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("nddv: error: ")
    assert message in error
    assert "\n" not in error
    assert set(Path().iterdir()) == before


def test_a_budget_ranks_only(inside):
    words = ["value", f"{inside}/data.csv", "--target", "y", "--flag", "0.1", "--epochs", "2"]
    assert main(words) == 0
    result = pd.read_csv("data.values.csv")
    assert "p_wrong" not in result
    assert result["flag"].sum() == N // 10


def test_a_table_in_pieces_gives_the_same_kind_of_answer(inside):
    words = ["value", f"{inside}/data.csv", "--target", "y", "--drop", "key", "--epochs", "8"]
    assert main([*words, "--stream", "always", "--report", "page.html", "--id", "key"][:-2]) == 0
    streamed = pd.read_csv("data.values.csv")
    whole = pd.read_csv(inside / "values.csv")
    assert (streamed["flag"] == whole["flag"]).mean() > 0.95
    assert sorted(path.name for path in Path().iterdir()) == [
        "data.values.csv",
        "data.values.json",
        "page.html",
    ]
