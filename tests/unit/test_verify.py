"""A run beside the committed one: scores seed by seed, and the command."""

from __future__ import annotations

import json
import shutil
import subprocess

import pandas as pd
import pytest

from nddv.workflow.kept import pack
from nddv.workflow.verify import SCORES, compare_scores, main, read_scores

PROBLEM = {"dataset": "a", "n": 100, "corruption": "label10"}
SCORED = pd.DataFrame(
    {
        **{key: [value] * 4 for key, value in PROBLEM.items()},
        **{"method": ["loo", "loo", "ame", "ame"], "seed": [1, 2, 1, 2], "settings": "x"},
        **{score: [0.5, 0.6, 0.2, 0.2] for score in SCORES},
    }
)
TABLE = pd.DataFrame({**{k: [v] for k, v in PROBLEM.items()}, "f1": [0.5], "f1_sd": [0.1]})


def said(made, redrawn=()):
    return compare_scores(SCORED, made, redrawn)


def moved(row, by):
    made = SCORED.copy()
    made.loc[row, "auroc"] += by
    return made


def test_the_same_scores_are_equal():
    lines, same = said(SCORED.sample(frac=1, random_state=0))
    assert same
    assert lines == [
        "Scores of the same rows, settings and seed: 12 are equal, 0 within the spread, 0 differ. "
        "Not compared: 0 values of other rows, 0 of other settings."
    ]


def test_a_score_may_move_by_the_spread_of_its_method_over_seeds():
    lines, same = said(moved(0, 0.07))  # the standard deviation of .5 and .6 is .0707
    assert same
    assert "11 are equal, 1 within the spread, 0 differ" in lines[-1]
    lines, same = said(moved(0, 0.08))
    assert not same
    assert lines[0] == "  differs: a, 100, label10, loo, seed 1: auroc was 0.5, is 0.58"
    assert not said(moved(2, 0.01))[1]  # both seeds had the same


def test_other_settings_rows_and_seeds_are_not_compared():
    far = SCORED.assign(**dict.fromkeys(SCORES, 0.9))
    lines, same = said(far.assign(settings=["y", "y", "y", "y"]))
    assert same
    assert "0 are equal" in lines[-1]
    assert lines[-1].endswith("0 values of other rows, 4 of other settings.")
    lines, same = said(far, ["a"])
    assert same
    assert lines[-1].endswith("4 values of other rows, 0 of other settings.")
    assert said(far.assign(seed=[3, 4, 3, 4]))[1]


def test_long_lists_are_cut():
    many = pd.concat([SCORED.assign(n=n) for n in range(20)], ignore_index=True)
    lines, _ = compare_scores(many, many.assign(auroc=0.0), [])
    assert lines[-2] == "  differs: 60 more"


@pytest.fixture
def run(tmp_path):
    """A finished run with one problem, committed with its scores."""
    folder = tmp_path / "project"
    (folder / "reports/tables").mkdir(parents=True)
    TABLE.to_csv(folder / "reports/tables/t.csv", index=False)
    scores = folder / "results/evaluation/a/n100/label10/detection.csv"
    scores.parent.mkdir(parents=True)
    SCORED.drop(columns="settings").to_csv(scores, index=False)
    for row in SCORED.itertuples():
        record = folder / f"results/values/a/n100/label10/seed{row.seed}/{row.method}.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps({"params_hash": row.settings}))
    pack(folder)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    (folder / ".gitignore").write_text("results/evaluation\nresults/values\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "run"]):
        subprocess.run([*git, *command], check=True, cwd=folder)
    return folder


def test_scores_are_read_with_the_settings_of_their_values(run):
    pd.testing.assert_frame_equal(read_scores(run), SCORED[read_scores(run).columns])
    (run / "results/values/a/n100/label10/seed1/loo.json").unlink()
    assert read_scores(run)["settings"].tolist() == ["", "x", "x", "x"]
    assert len(read_scores(run / "reports")) == 0


def test_the_command_compares_with_the_committed_run(run, monkeypatch, capsys):
    monkeypatch.chdir(run)
    assert main([]) == 0
    assert "12 are equal" in capsys.readouterr().out
    assert main(["other"]) == 2
    assert "holds no tables" in capsys.readouterr().err
    shutil.copytree(run / "reports", run / "other/reports")
    shutil.copytree(run / "results", run / "other/results")
    TABLE.assign(f1=0.9).to_csv(run / "other/reports/tables/t.csv", index=False)
    assert main(["other"]) == 1
    assert "differs: a, 100, label10: f1 was 0.50 ± 0.10, is 0.90 ± 0.10" in capsys.readouterr().out
    assert main([".", "--kept", "other"]) == 1
    assert main(["other", "--kept", "other"]) == 0
    TABLE.to_csv(run / "other/reports/tables/t.csv", index=False)
    moved(2, 0.1).drop(columns="settings").to_csv(
        run / "other/results/evaluation/a/n100/label10/detection.csv", index=False
    )
    capsys.readouterr()
    assert main(["other"]) == 1
    assert "differs: a, 100, label10, ame, seed 1: auroc was 0.2, is 0.3" in capsys.readouterr().out


def test_without_kept_scores_tables_are_compared_and_without_tables_nothing(
    run, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(run)
    subprocess.run(["git", "rm", "-q", "results/kept.tar.xz"], check=True)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run([*git, "commit", "-qm", "less"], check=True)
    assert main([]) == 0
    assert "Scores of the same rows, settings and seed: 0 are equal" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    assert "name a folder: --kept" in capsys.readouterr().err
