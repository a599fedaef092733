"""Runs that are saved: the same scores in another object, and nothing but whole, sound folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

import nddv
from nddv.checks.saved import FORMAT, NUMBERS, RUN
from nddv.support.wording import InputError

GONE = "(gone)"
FAST = {"random_state": 100, "members": 2, "epochs": 4}


def numbers(n: int, seed: int):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")


def mixed(n: int, seed: int):
    """A frame with words and missing entries, and classes that are numbers."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    color = rng.choice(["red", "green", "blue"], n)
    y = (size + (color == "red") > 0).astype(int)
    size[rng.choice(n, 5, replace=False)] = np.nan
    return pd.DataFrame({"size": size, "color": color}), y


X, Y = numbers(120, 100)
NEW, NEW_Y = numbers(30, 101)
FRAME, FRAME_Y = mixed(120, 100)
NEW_FRAME, NEW_FRAME_Y = mixed(30, 101)


@pytest.fixture(scope="module")
def report():
    return nddv.check(X, Y, **FAST)


@pytest.fixture(scope="module")
def of_frame():
    return nddv.check(FRAME, FRAME_Y, **FAST)


@pytest.fixture
def folder(report, tmp_path) -> Path:
    report.save(tmp_path / "run")
    return tmp_path / "run"


def rewrite(folder: Path, **changes) -> None:
    """Change what the JSON of a run says; `GONE` takes it away."""
    about = json.loads((folder / RUN).read_text()) | changes
    kept = {key: value for key, value in about.items() if value is not GONE}
    (folder / RUN).write_text(json.dumps(kept))


def test_a_loaded_run_says_what_the_model_says(report, folder):
    run = nddv.load_run(folder)
    np.testing.assert_array_equal(run.scores(NEW), report.model.class_scores(NEW))
    assert run.classes.tolist() == ["no", "yes"]
    assert sorted(path.name for path in folder.iterdir()) == [RUN, NUMBERS]


def test_new_rows_are_scored(folder):
    run = nddv.load_run(folder)
    flipped = np.where(np.arange(30) < 5, np.where(NEW_Y == "yes", "no", "yes"), NEW_Y)
    scored = run.score(NEW, flipped)
    assert list(scored) == ["value", "p_wrong", "suggested", "p_suggested"]
    assert scored["p_wrong"][:5].mean() > scored["p_wrong"][5:].mean() + 0.2
    assert scored["value"][:5].mean() < scored["value"][5:].mean()
    flagged = scored["p_wrong"] > 0.5
    assert (scored["suggested"][flagged] != flipped[flagged]).all()
    assert (scored["suggested"][~flagged] == flipped[~flagged]).all()
    without = run.score(NEW)
    assert list(without) == ["suggested", "p_suggested"]
    assert (without["suggested"] == NEW_Y).mean() > 0.8
    assert (without["p_suggested"] >= 0.5).all()


def test_each_row_is_scored_on_its_own(folder):
    run = nddv.load_run(folder)
    whole, one = run.score(NEW, NEW_Y), run.score(NEW[3:4], NEW_Y[3:4])
    pd.testing.assert_frame_equal(whole[3:4].reset_index(drop=True), one, rtol=1e-4)


def test_a_frame_of_words_and_gaps(of_frame, tmp_path):
    of_frame.save(tmp_path / "run")
    run = nddv.load_run(tmp_path / "run")
    assert run.encoding.columns == of_frame.encoding.columns
    scored = run.score(NEW_FRAME, NEW_FRAME_Y)
    encoded = of_frame.encoding.encode(NEW_FRAME)
    np.testing.assert_array_equal(run.scores(encoded), of_frame.model.class_scores(encoded))
    assert scored["suggested"].isin([0, 1]).all()
    more = NEW_FRAME[["color", "size"]].assign(unused=1)  # by their names, whatever their order
    pd.testing.assert_frame_equal(run.score(more, NEW_FRAME_Y), scored)
    with pytest.raises(InputError, match="row 3: .*'pink'"):
        run.score(NEW_FRAME.assign(color=["red"] * 3 + ["pink"] * 27))
    with pytest.raises(ValueError, match="no column 'size'|'size'"):
        run.score(NEW_FRAME[["color"]])


@pytest.mark.parametrize(
    ("strange", "says"),
    [
        (["yes"] * 29 + ["maybe"], "'maybe' in row 29"),
        (["yes"] * 29 + ["yes, indeed"], "'yes, indeed' in row 29"),  # begins as a class does
        ([1] * 30, "1 in row 0"),
        (["yes"] * 29, "y has 29 entries, but X has 30 rows"),
    ],
)
def test_classes_that_the_run_has_not(folder, strange, says, says_why):
    with pytest.raises(ValueError, match=says) as error:
        nddv.load_run(folder).score(NEW, strange)
    says_why(error.value)


def test_numbers_that_are_no_classes(of_frame, tmp_path):
    of_frame.save(tmp_path / "run")
    run = nddv.load_run(tmp_path / "run")
    given = run.score(NEW_FRAME, NEW_FRAME_Y.astype(float))
    pd.testing.assert_frame_equal(given, run.score(NEW_FRAME, NEW_FRAME_Y))
    with pytest.raises(InputError, match=r"0.7 in row 0"):
        run.score(NEW_FRAME, np.full(30, 0.7))


@pytest.mark.parametrize(
    ("features", "says"),
    [
        (NEW[:, :3], "X has 3 features, but the run 4"),
        (np.where(NEW > 1, np.nan, NEW), "X has a missing or infinite value"),
        (NEW[0], "1D|dimension"),
    ],
)
def test_features_that_do_not_fit(folder, features, says):
    with pytest.raises(ValueError, match=says):
        nddv.load_run(folder).score(features)


def test_other_columns(tmp_path):
    named = pd.DataFrame(X, columns=list("abcd"))
    nddv.check(named, Y, **FAST | {"epochs": 2}).save(tmp_path / "run")
    run = nddv.load_run(tmp_path / "run")
    new = pd.DataFrame(NEW, columns=list("abcd"))
    np.testing.assert_array_equal(run.scores(new), run.scores(NEW))
    with pytest.raises(ValueError, match="give the same columns in the same order"):
        run.score(new[list("dcba")])


def test_a_damaged_description_is_refused(folder, says_why):
    whole = (folder / RUN).read_text()
    for damaged in (whole[: len(whole) // 2], "[]", "", '"run"', "{}"):
        (folder / RUN).write_text(damaged)
        with pytest.raises(InputError, match=f"{re.escape(RUN)} is damaged: save") as error:
            nddv.load_run(folder)
        says_why(error.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"record": GONE},
        {"flow": GONE},
        {"flow": {"width": 3}},
        {"channel": {}},
        {"channel": 7},
        {"classes": ["no", "yes", "perhaps"]},
        {"classes": "no"},
        {"class_type": "nonsense"},
        {"class_type": "<i8"},
        {"dtype": "float99"},
        {"features": ["a"]},
        {"middle": "high"},
        {"encoding": {"columns": [{"name": "a"}], "rules": {}}},
    ],
    ids=str,
)
def test_a_changed_description_is_refused(folder, changes, says_why):
    rewrite(folder, **changes)
    with pytest.raises(InputError, match="is damaged") as error:
        nddv.load_run(folder)
    says_why(error.value)


def test_another_format_is_refused_and_that_of_this_version_is_read(folder):
    rewrite(folder, format=1)  # what 0.2.0 writes
    nddv.load_run(folder)
    rewrite(folder, format=FORMAT + 1)
    with pytest.raises(InputError, match=f"has the format {FORMAT + 1}, and this nddv reads"):
        nddv.load_run(folder)


def test_changed_numbers_are_refused(folder):
    tensors = load_file(folder / NUMBERS)
    tensors["look0.flat"] += 1e-3
    save_file(tensors, folder / NUMBERS)
    with pytest.raises(InputError, match=f"{re.escape(NUMBERS)} has changed since"):
        nddv.load_run(folder)
    (folder / NUMBERS).unlink()
    with pytest.raises(InputError, match="is damaged"):
        nddv.load_run(folder)


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(InputError, match=r"holds no run: there is no run\.json in it"):
        nddv.load_run(tmp_path)
    with pytest.raises(InputError, match="holds no run"):
        nddv.load_run(tmp_path / "nowhere")


def test_nothing_of_others_is_overwritten(report, folder, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    for replace in (False, True):
        with pytest.raises(InputError, match="holds no run: name another folder"):
            report.save(tmp_path / "notes", replace)
    assert (tmp_path / "notes" / "mine.txt").read_text() == "mine"
    with pytest.raises(InputError, match="holds a run already"):
        report.save(folder)
    report.save(folder, replace=True)
    (tmp_path / "empty").mkdir()
    report.save(tmp_path / "empty")
    report.save(tmp_path / "deep" / "er")
    for name in ("run", "empty", "deep/er"):
        assert nddv.load_run(tmp_path / name).scores(NEW).shape == (30, 2)


@pytest.mark.parametrize("failing", ["save_file", "write_json"])
def test_a_run_is_written_whole_or_not_at_all(report, folder, tmp_path, monkeypatch, failing):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_):
        raise OSError("no room")

    monkeypatch.setattr(f"nddv.checks.saved.{failing}", full)
    for target in (folder, tmp_path / "other"):
        with pytest.raises(OSError, match="no room"):
            report.save(target, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_run_of_before_comes_back_if_the_new_one_cannot_be_moved(report, folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    rename = Path.rename

    def once(self, target):
        if self.name == "run" and self.parent.name.startswith(".run."):
            raise OSError("moved away")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(OSError, match="moved away"):
        report.save(folder, replace=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_the_same_run_has_the_same_bytes(report, folder, tmp_path):
    report.save(tmp_path / "again")
    for name in (RUN, NUMBERS):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_a_run_has_the_rights_of_any_new_file(folder, tmp_path):
    (tmp_path / "new").touch()
    for path in folder.iterdir():
        assert path.stat().st_mode == (tmp_path / "new").stat().st_mode
