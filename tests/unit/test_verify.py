"""Tables of a run beside the committed ones: what differs by more than the spread is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pandas as pd
import pytest

from nddv.reporting.verify import KEYS, compare, compare_table, main, read_folder

TABLE = pd.DataFrame(
    {
        **{"dataset": ["a", "a", "b"], "n": 1000, "method": ["loo", "ame", "loo"]},
        **{"f1": [0.5, 0.6, 0.7], "f1_sd": [0.1, 0.01, None], "smallest": [1.0, 2.0, 3.0]},
        **{"seconds": [1.0, 2.0, 3.0], "seconds_sd": 0.1, "leads": "yes", "config": "abc"},
    }
)


def changed(row, column, value):
    frame = TABLE.copy()
    frame.loc[row, column] = value
    return frame


def test_the_same_tables_agree():
    result = compare_table("t", TABLE, TABLE.sample(frac=1, random_state=100))
    assert (result.agree, result.one_sided) == (6, 0)
    assert result.lines() == ["t: 6 numbers agree, 0 differ"]


@pytest.mark.parametrize(
    ("row", "column", "value", "kind", "text"),
    [
        (0, "f1", 0.59, "", ""),
        (0, "f1", 0.61, "differ", "a, 1000, loo: f1 was 0.50 ± 0.10, is 0.61 ± 0.10"),
        (1, "f1", 0.62, "differ", "a, 1000, ame: f1 was 0.600 ± 0.010, is 0.620 ± 0.010"),
        (2, "f1", 0.704, "", ""),
        (2, "f1", 0.75, "unspread", "b, 1000, loo: f1 was 0.700, is 0.750"),
        (1, "smallest", 2.5, "unspread", "a, 1000, ame: smallest was 2.00, is 2.50"),
        (1, "seconds", 19.0, "", ""),
        (1, "seconds", 21.0, "times", "a, 1000, ame: seconds was 2.00 ± 0.10, is 21.00 ± 0.10"),
        (1, "leads", "no", "words", "a, 1000, ame: leads was yes, is no"),
    ],
)
def test_a_change_is_told_by_its_kind(row, column, value, kind, text):
    result = compare_table("t", TABLE, changed(row, column, value))
    found = {name: getattr(result, name) for name in ("differ", "unspread", "times", "words")}
    assert found == {name: [text] if name == kind else [] for name in found}
    assert compare({"t": TABLE}, {"t": changed(row, column, value)})[1] == (kind != "differ")


def test_the_larger_spread_of_both_sides_counts():
    wider = changed(1, "f1", 0.65).assign(f1_sd=0.06)
    assert compare_table("t", TABLE, wider).differ == []


def test_rows_tables_and_numbers_of_one_side_are_told_and_do_not_count():
    made = pd.concat([changed(0, "f1", None)[:2], TABLE[2:].assign(dataset="c")])
    lines, same = compare({"t": TABLE, "gone": TABLE}, {"t": made, "new": TABLE})
    assert same
    for said in (
        "  row only among the committed: b, 1000, loo",
        "  row only in the run: c, 1000, loo",
        "  1 numbers stand on one side only",
        "Tables only among the committed: gone.",
        "Tables only in the run: new.",
    ):
        assert said in lines
    assert lines[-1].startswith("1 tables: 3 numbers agree, 0 differ by more than the spread.")


def test_rows_about_the_same_are_counted_and_other_configurations_told():
    twice = pd.concat([TABLE, TABLE], ignore_index=True)
    result = compare_table("t", twice, twice[:4].assign(config="xyz"))
    assert result.only_kept == ["a, 1000, ame, row 2", "b, 1000, loo, row 2"]
    assert result.configurations == "abc became xyz"
    assert "  configurations: abc became xyz" in result.lines()


def test_long_lists_are_cut():
    many = pd.concat([TABLE.assign(n=n) for n in range(30)], ignore_index=True)
    lines = compare_table("t", many, many[:3]).lines()
    assert lines[-1] == "  row only among the committed: 67 more"


def test_the_command_compares_with_the_committed_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "reports/tables"
    folder.mkdir(parents=True)
    assert main([]) == 2
    assert "name a folder: --kept" in capsys.readouterr().err
    TABLE.to_csv(folder / "t.csv", index=False)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "tables"]):
        subprocess.run([*git, *command], check=True)
    assert main([]) == 0
    other = tmp_path / "other/reports/tables"
    other.mkdir(parents=True)
    assert main(["other"]) == 2
    assert "holds no tables" in capsys.readouterr().err
    changed(0, "f1", 0.9).to_csv(other / "t.csv", index=False)
    assert main(["other"]) == 1
    assert "differs: a, 1000, loo: f1 was 0.50 ± 0.10, is 0.90 ± 0.10" in capsys.readouterr().out
    assert main([".", "--kept", str(other)]) == 1
    assert main(["other", "--kept", str(other)]) == 0


def test_the_keys_tell_the_rows_of_the_committed_tables_apart():
    for name, frame in read_folder(Path(__file__).parents[2] / "reports/tables").items():
        keys = [key for key in KEYS if key in frame]
        assert not frame.duplicated(keys).any(), name
