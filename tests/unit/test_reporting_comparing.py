"""Tables of two runs side by side: what differs by more than the spread is named."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from nddv.reporting.comparing import (
    KEYS,
    compare,
    compare_table,
    read_folder,
    redrawn_datasets,
)

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


def test_means_over_other_seeds_are_told_and_do_not_count():
    few, many = TABLE.assign(seeds="1 2"), changed(0, "f1", 0.9).assign(seeds="1 2 3")
    result = compare_table("t", few, many)
    assert result.differ == []
    assert result.others == ["a, 1000, loo: f1 was 0.50 ± 0.10, is 0.90 ± 0.10"]
    assert result.agree == 5
    assert len(compare_table("t", few, many.assign(seeds="1 2")).differ) == 1


def test_data_sets_with_other_rows_are_told_and_do_not_count():
    about = {"rows": [5, 6, None], "features": 2, "classes": [2.0, 2.0, None], "minority": 0.5}
    data = pd.DataFrame({"dataset": ["a", "b", "c"], **about, "encoder": None, "checksum": "x"})
    other = data.assign(rows=[5, 7, None], classes=[2, 2, None])
    assert redrawn_datasets(data, other) == ["b"]
    assert redrawn_datasets(data, data[:1]) == []
    assert redrawn_datasets(None, data) == []
    assert redrawn_datasets(data, data.assign(checksum="a formula")) == ["a", "b", "c"]
    moved = changed(2, "f1", 0.9).assign(f1_sd=0.01)
    kept, made = ({"datasets": d, "t": t} for d, t in ((data, TABLE), (other, moved)))
    lines, same = compare(kept, made)
    assert same
    told = "  of other rows or seeds, not counted: b, 1000, loo: f1 was 0.700, is 0.900 ± 0.010"
    assert told in lines
    assert not compare({**kept, "datasets": other}, made)[1]


def test_a_case_of_several_words_names_its_data_set():
    cases = TABLE.assign(case=["label5 · a", "label5 · b", "all"]).drop(columns="dataset")
    moved = cases.assign(f1=[0.9, 0.9, 0.9], f1_sd=0.01)
    kept = cases.assign(f1_sd=0.01)
    found = compare_table("t", kept, moved, ["b"])
    assert (len(found.differ), len(found.others)) == (2, 1)


def test_what_other_tables_say_is_not_compared_twice():
    lines, same = compare({"claim_cases": TABLE}, {"claim_cases": changed(0, "f1", 0.9)})
    assert same
    assert lines[-1].startswith("0 tables: ")


def test_long_lists_are_cut():
    many = pd.concat([TABLE.assign(n=n) for n in range(30)], ignore_index=True)
    lines = compare_table("t", many, many[:3]).lines()
    assert lines[-1] == "  row only among the committed: 67 more"


def test_the_keys_tell_the_rows_of_the_committed_tables_apart():
    for name, frame in read_folder(Path(__file__).parents[2] / "reports/tables").items():
        keys = [key for key in KEYS if key in frame]
        assert not frame.duplicated(keys).any(), name
