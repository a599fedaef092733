"""Data sets: from an entry to numbers, checked; one's own table; the real ones where they are."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nddv.problems import load_dataset, load_table, make_problem, save_table
from nddv.problems.datasets import Files, fetch_dataset, summary
from nddv.problems.encoders import known_encoders
from nddv.problems.fetch import FetchError
from nddv.problems.registry import BUILT_IN

CONFIG = Path(__file__).parents[2] / "config"
DATASETS = yaml.safe_load((CONFIG / "datasets.yaml").read_text())["datasets"]
ENCODERS = known_encoders()


@pytest.fixture
def own(tmp_path):
    """One's own table of 60 rows: numbers, words, a group, a constant and a gap in one column."""
    rng = np.random.default_rng(100)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 60),
            "job": rng.choice(["cook", "clerk", "nurse"], 60),
            "sex": rng.choice(["f", "m"], 60),
            "one": 1,
            "label": np.where(np.arange(60) < 40, "no", "yes"),
            "score": rng.normal(size=60),
        }
    )
    path = tmp_path / "mine.csv"
    frame.to_csv(path, index=False)
    return frame, {"source": "csv", "path": str(path), "target": "label", "group": "sex"}


def test_ones_own_table(own):
    frame, entry = own
    table = load_dataset("mine", entry, progress=False)
    assert table.X.shape == (60, 1 + 3 + 1 + 1 + 1)  # age, three jobs, sex, the constant, score
    assert table.classes == ["no", "yes"]
    np.testing.assert_array_equal(table.y, frame["label"] == "yes")
    assert table.groups == ["f", "m"]
    np.testing.assert_array_equal(table.group, frame["sex"] == "m")
    assert table.record["source"]["kind"] == "file"
    problem, truth = make_problem(table, 30, "label10", 100, {"valid": 5, "test": 10, "meta": 5})
    assert problem.record["address"] == "mine/n30/label10/seed100"
    np.testing.assert_array_equal(truth.group, table.group[truth.rows_train])


def test_parquet_is_read_too(own, tmp_path):
    frame, entry = own
    frame.to_parquet(tmp_path / "mine.parquet")
    path = str(tmp_path / "mine.parquet")
    table = load_dataset("mine", {**entry, "source": "parquet", "path": path}, progress=False)
    np.testing.assert_array_equal(table.X, load_dataset("mine", entry, progress=False).X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "labels"}, "no column 'labels'.*did you mean 'label'"),
        ({"group": "gender"}, "no column 'gender'"),
        ({"drop": ["agee"]}, "no column 'agee'"),
        ({"target": "score"}, "holds numbers, not classes; .* 'binarise: mean'"),
        ({"target": "one"}, "only one class"),
        ({"expect": {"rows": 61}}, "60 rows, not 61"),
        ({"rows": 61}, "61 rows are asked for .* only 60"),
        ({"features": ["age", "label"]}, "the target 'label' is among the features"),
        ({"features": ["age"], "drop": ["agee"]}, "no column 'agee'"),
        ({"group": "one"}, "group 'one' has 1 levels"),
        ({"group": "score"}, "group 'score' has 60 levels"),
        ({"expect": {"features": 2}}, "7 features, not 2"),
        ({"expect": {"classes": 3}}, "2 classes, not 3"),
        ({"expect": {"minority": 0.5}}, "0.333 of the rows in the smallest class"),
        ({"binarise": "mean"}, "not numeric"),
        ({"task": "regression"}, "not numeric"),
        ({"task": "regression", "target": "one"}, "only one value, 1"),
        ({"task": "regression", "target": "score", "balance": True}, "'balance' is for classes"),
        ({"task": "regression", "target": "score", "expect": {"classes": 2}}, "'classes' is for"),
        ({"task": "regression", "target": "score", "expect": {"rows": 61}}, "60 rows, not 61"),
    ],
)
def test_a_wrong_entry_is_said(own, change, message):
    with pytest.raises(ValueError, match=rf"data set mine, from .*{message}"):
        load_dataset("mine", {**own[1], **change}, progress=False)


def test_gaps_in_a_table_are_refused_or_filled(own, tmp_path):
    frame, entry = own
    frame.assign(score=frame["score"].where(frame.index != 3)).to_csv(entry["path"], index=False)
    with pytest.raises(ValueError, match=r"row 4 .*entry: drop: score, missing: impute\)"):
        load_dataset("mine", entry, progress=False)
    table = load_dataset("mine", {**entry, "missing": "impute"}, progress=False)
    assert table.X.shape[1] == 8  # one column more says where
    assert np.isfinite(table.X).all()


def test_a_missing_file_is_said_with_every_try(tmp_path):
    entry = {"source": "csv", "path": str(tmp_path / "none.csv"), "target": "y"}
    with pytest.raises(FetchError, match=r"none.csv"):
        load_dataset("mine", entry, progress=False)


def test_columns_can_be_chosen_dropped_and_renamed(own):
    _, entry = own
    chosen = load_dataset("mine", {**entry, "features": ["age", "score"]}, progress=False)
    assert chosen.X.shape == (60, 2)
    dropped = load_dataset("mine", {**entry, "drop": ["job", "one"]}, progress=False)
    assert dropped.X.shape == (60, 3)
    named = load_dataset("mine", {**entry, "class_names": {"no": "0", "yes": "1"}}, progress=False)
    assert named.classes == ["0", "1"]


def test_a_target_split_at_its_mean(own):
    frame, entry = own
    table = load_dataset(
        "mine", {**entry, "target": "score", "drop": ["label"], "binarise": "mean"}, progress=False
    )
    assert table.classes == ["N", "P"]
    np.testing.assert_array_equal(table.y, frame["score"] < frame["score"].mean())


def test_a_real_valued_target_stays_as_it_is(own, tmp_path):
    frame, entry = own
    real = {**entry, "target": "age", "drop": ["label"], "task": "regression"}
    table = load_dataset("mine", real, progress=False)
    assert (table.task, table.classes, table.y.dtype) == ("regression", [], np.float64)
    np.testing.assert_array_equal(table.y, frame["age"])
    save_table(tmp_path / "stored", table)
    stored = load_table(tmp_path / "stored")
    assert stored.task == "regression"
    np.testing.assert_array_equal(stored.y, table.y)
    found = summary(table, real)
    assert (found["classes"], found["minority"]) == (None, None)
    few = load_dataset("mine", {**real, "rows": 15}, progress=False)
    assert len(few.y) == 15
    assert set(few.y) <= set(table.y)


def test_balanced_and_subset_rows_are_seeded_and_in_file_order(own):
    frame, entry = own
    balanced = load_dataset("mine", {**entry, "balance": True, "data_seed": 1}, progress=False)
    assert np.bincount(balanced.y).tolist() == [20, 20]
    again = load_dataset("mine", {**entry, "balance": True, "data_seed": 1}, progress=False)
    other = load_dataset("mine", {**entry, "balance": True, "data_seed": 2}, progress=False)
    np.testing.assert_array_equal(balanced.X, again.X)
    assert not np.array_equal(balanced.X, other.X)
    part = load_dataset("mine", {**entry, "rows": 15, "features": ["score"]}, progress=False)
    assert np.bincount(part.y).tolist() == [10, 5]
    places = [int(np.flatnonzero(frame["score"] == value)[0]) for value in part.X[:, 0]]
    assert places == sorted(places)


def test_a_group_may_be_missing_somewhere(own):
    frame, entry = own
    frame.assign(sex=frame["sex"].where(frame.index != 3)).to_csv(entry["path"], index=False)
    table = load_dataset("mine", {**entry, "drop": ["sex"]}, progress=False)
    assert table.groups == ["(missing)", "f", "m"]
    assert (table.group == 0).tolist() == [i == 3 for i in range(60)]


def test_what_was_done_to_columns_is_said(own, capsys):
    frame, entry = own
    frame.assign(word=[f"w{i % 20}" for i in range(60)]).to_csv(entry["path"], index=False)
    table = load_dataset("mine", {**entry, "max_categories": 5})
    assert any("pooled" in note for note in table.record["notes"])
    assert "pooled" in capsys.readouterr().err


def test_a_small_part_of_the_rows_is_measured_against_the_whole():
    whole = DATASETS["2dplanes"]["expect"]["minority"]
    allowed = ["generated"]
    part = load_dataset("2dplanes", {**DATASETS["2dplanes"], "rows": 11}, allowed=allowed)
    assert abs(np.bincount(part.y).min() / 11 - whole) > 0.005
    with pytest.raises(ValueError, match="leave a class without any"):
        load_dataset("digits", {**DATASETS["digits"], "rows": 9})


def test_a_table_on_disk_is_the_same(own, tmp_path):
    table = load_dataset("mine", own[1], progress=False)
    save_table(tmp_path / "stored", table)
    loaded = load_table(tmp_path / "stored")
    np.testing.assert_array_equal(loaded.X, table.X)
    assert isinstance(loaded.X, np.memmap)
    np.testing.assert_array_equal(loaded.group, table.group)
    assert (loaded.name, loaded.classes, loaded.groups) == ("mine", table.classes, table.groups)
    assert loaded.record == table.record
    (tmp_path / "stored" / "features.npy").write_bytes(b"cut")
    with pytest.raises(ValueError, match=r"features.npy cannot be read .* delete it and run again"):
        load_table(tmp_path / "stored")


def test_the_summary_tells_what_the_table_of_data_sets_prints(own):
    found = summary(load_dataset("mine", own[1], progress=False), own[1])
    assert json.loads(json.dumps(found)) == found
    assert found["rows"] == 60
    assert found["minority"] == pytest.approx(1 / 3)
    assert found["checksum"] == "your own file"
    assert found["group"] == "sex"


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_data_sets_that_need_no_file(name):
    allowed = ["generated", "scikit-learn"]
    table = load_dataset(name, DATASETS[name], allowed=allowed, progress=False)
    assert len(table.y) == DATASETS[name]["expect"]["rows"]


def letters(folder, device, **settings):
    """An encoder of one's own: counts of four letters."""
    alphabet = settings["alphabet"]

    def encode(documents):
        return np.array([[d.count(c) for c in alphabet] for d in documents], dtype=np.float32)

    return encode


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """Forty documents, the entry of a data set of them, and that of an encoder."""
    monkeypatch.setenv("NDDV_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "news"
    for i in range(40):
        path = folder / ("arts" if i % 4 else "tech") / f"{i:02d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("abcd"[i % 4] * (i + 1))
    (tmp_path / "data" / "weights").mkdir()
    (tmp_path / "data" / "weights" / "none.txt").write_text("counting needs none")
    source = {"kind": "local", "path": "news", "read": "documents", "label": "([a-z]+)/"}
    encoder = {
        "data": "text",
        "dimension": 4,
        "function": f"{__name__}:letters",
        "settings": {"alphabet": "abcd"},
        "sources": [{"kind": "local", "path": "weights"}],
    }
    return {"data": "text", "sources": [source]}, encoder


def test_documents_and_an_encoder_of_ones_own(documents, tmp_path):
    entry, encoder = documents
    table = load_dataset("news@letters", entry, encoder, progress=False)
    assert table.X.shape == (40, 4)
    assert table.X.dtype == np.float16
    assert table.classes == ["arts", "tech"]
    # files in order of their names, arts before tech: the first is 01.txt, "bb"
    np.testing.assert_array_equal(table.X[0], [0, 2, 0, 0])
    assert table.y.sum() == 10
    assert set(table.record) >= {"source", "weights", "notes"}
    assert list((tmp_path / "cache" / "embeddings").iterdir())


def test_a_change_of_documents_settings_or_rows_is_another_embedding(documents, tmp_path):
    entry, encoder = documents

    def stores():
        return set((tmp_path / "cache" / "embeddings").iterdir())

    load_dataset("news@letters", entry, encoder, progress=False)
    first = stores()
    load_dataset("news@letters", entry, encoder, progress=False)
    assert stores() == first
    load_dataset("news@letters", {**entry, "rows": 20}, encoder, progress=False)
    other = {**encoder, "settings": {"alphabet": "dcba"}}
    turned = load_dataset("news@letters", entry, other, progress=False)
    np.testing.assert_array_equal(turned.X[0], [0, 0, 2, 0])
    (tmp_path / "data" / "news" / "arts" / "01.txt").write_text("a")
    changed = load_dataset("news@letters", entry, encoder, progress=False)
    np.testing.assert_array_equal(changed.X[0], [1, 0, 0, 0])
    assert len(stores()) == 4


def test_a_change_of_ones_own_code_is_another_embedding(documents, tmp_path, monkeypatch):
    entry, encoder = documents
    code = "import numpy as np\n\ndef ones(folder, device):\n    assert folder is None\n"
    code += "    return lambda items: np.full((len(items), 4), {}, dtype=np.float32)\n"
    monkeypatch.syspath_prepend(tmp_path)
    encoder = {"data": "text", "dimension": 4, "function": "my_ones:ones"}  # and no weights
    for number in (1, 2):
        (tmp_path / "my_ones.py").write_text(code.format(number))
        sys.modules.pop("my_ones", None)
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        table = load_dataset("news@ones", entry, encoder, progress=False)
        assert (number == table.X).all()


def test_documents_in_a_table(tmp_path):
    frame = pd.DataFrame({"review": ["good", "bad", "fine"], "mood": ["a", "longer", "a"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    entry = {"data": "text", "source": "csv", "path": str(tmp_path / "t.csv")}
    entry |= {"text": "review", "target": "mood"}
    encoder = {"data": "text", "dimension": 4, "function": f"{__name__}:letters"}
    encoder["settings"] = {"alphabet": "abcd"}
    table = load_dataset("t@letters", entry, encoder, progress=False)
    assert table.classes == ["a", "longer"]
    frame.assign(mood=["a", None, "longer"]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="'mood' is missing at row 2"):
        load_dataset("t@letters", entry, encoder, progress=False)


def test_an_encoder_is_asked_for(documents):
    with pytest.raises(ValueError, match="need an encoder"):
        load_dataset("news", documents[0], progress=False)


READY = {
    "kind": "local",
    "path": "ready.npz",
    "read": "embeddings",
    "encoder": "letters",
    "classes": ["arts", "tech"],
}


def test_ready_embeddings_need_no_weights_and_must_fit(documents, tmp_path):
    entry, encoder = documents
    rows = np.ones((6, 4), dtype=np.float16)
    np.savez(tmp_path / "data" / "ready.npz", emb=rows, label=np.arange(6) % 2)
    entry = {**entry, "sources": [READY, *entry["sources"]]}
    nowhere = {**encoder, "sources": [{"kind": "local", "path": "nowhere"}]}
    table = load_dataset("news@letters", entry, nowhere, progress=False)
    np.testing.assert_array_equal(table.X, rows)
    with pytest.raises(ValueError, match="4 dimensions, but the encoder has 5"):
        load_dataset("news@letters", entry, {**nowhere, "dimension": 5}, progress=False)


@pytest.fixture
def encoded_in_part(documents, tmp_path):
    """The entry of the same documents, the first 12 of which are encoded already, and its encoder.

    Among the embeddings is a thirteenth document, which the files do not have.
    """
    entry, encoder = documents
    # as the encoder gives them, of another length, so that they can be told from its own
    ready = -np.ones((13, 4), dtype=np.float16)
    ready[:12] = 2 * load_dataset("news@letters", entry, encoder, progress=False).X[:12]
    np.savez(tmp_path / "data" / "ready.npz", emb=ready, label=np.arange(13) // 12)
    source = {**READY, "partial": True, "first": 12, "expect": {"rows": 13}}
    return {**entry, "sources": [source, *entry["sources"]]}, encoder


def test_items_that_embeddings_lack_are_encoded(encoded_in_part, documents):
    entry, encoder = encoded_in_part
    whole = load_dataset("news@letters", *documents, progress=False)
    table = load_dataset("news@letters", {**entry, "rows": 20}, encoder, progress=False)
    assert table.X.shape == (20, 4)
    np.testing.assert_array_equal(table.X[:12], 2 * whole.X[:12])
    assert (table.X[12] == -1).all()
    later = whole.X[12:].tolist()
    places = [later.index(row) for row in table.X[13:].tolist()]  # of other items, each once
    assert len(set(places)) == 7
    np.testing.assert_array_equal(table.y[13:], whole.y[12:][places])
    assert "7 of 20 rows were encoded" in table.record["notes"][-1]
    every = load_dataset("news@letters", entry, encoder, progress=False)
    np.testing.assert_array_equal(every.X[13:], whole.X[12:])


def test_embeddings_of_enough_rows_are_not_extended(encoded_in_part):
    entry, encoder = encoded_in_part
    nowhere = {**encoder, "sources": [{"kind": "local", "path": "nowhere"}]}
    table = load_dataset("news@letters", {**entry, "rows": 10}, nowhere, progress=False)
    assert len(table.y) == 10


def test_embeddings_of_another_making_are_not_mixed_with_the_encoders(encoded_in_part, tmp_path):
    entry, encoder = encoded_in_part
    path = tmp_path / "data" / "ready.npz"
    with np.load(path) as ready:
        turned, label = ready["emb"][:, ::-1], ready["label"]
    np.savez(path, emb=turned, label=label)
    with pytest.raises(ValueError, match=r"not those that the encoder gives .* cannot be mixed"):
        load_dataset("news@letters", entry, encoder, progress=False)


def test_further_rows_must_have_the_same_classes(encoded_in_part):
    entry, encoder = encoded_in_part
    ready, raw = entry["sources"]
    other = {**entry, "sources": [{**ready, "classes": ["arts", "sport"]}, raw]}
    with pytest.raises(ValueError, match="the further rows have other classes"):
        load_dataset("news@letters", other, encoder, progress=False)


def test_files_of_further_rows_are_found_again(encoded_in_part):
    entry, encoder = encoded_in_part
    files = fetch_dataset("news@letters", entry, encoder, progress=False)
    assert files.items is not None
    assert Files.again("news@letters", json.loads(json.dumps(files.to_json()))) == files


def test_files_are_found_again_by_the_same_source(documents, tmp_path):
    entry, encoder = documents
    files = fetch_dataset("news@letters", entry, encoder, progress=False)
    stored = json.loads(json.dumps(files.to_json()))
    again = Files.again("news@letters", stored)
    assert again == files
    one = load_dataset("news@letters", entry, encoder, files=again, progress=False)
    assert len(one.y) == 40
    (tmp_path / "data" / "news" / "arts" / "01.txt").write_text("changed")
    with pytest.raises(ValueError, match="have changed since they were fetched"):
        Files.again("news@letters", stored)


# The real data sets, from the folder that NDDV_DATA names.


@pytest.mark.parametrize(
    "name", ["2dplanes", "electricity", "adult", "pol", "fire", "fire_target", "pol_target"]
)
def test_real_tables_are_what_their_entries_promise(data_folder, name):
    table = load_dataset(name, DATASETS[name], allowed=["local"], progress=False)
    assert table.record["source"]["verified"]
    assert len(table.y) == DATASETS[name]["expect"]["rows"]
    assert np.isfinite(table.X).all()
    if name == "adult":
        assert table.groups == ["Female", "Male"]
        assert table.group.mean() == pytest.approx(0.668, abs=0.001)
    if name == "pol":
        assert (np.ptp(table.X, axis=0) == 0).sum() == 22
    if name == "pol_target":  # split at its mean, it is the class of pol
        classes = load_dataset("pol", DATASETS["pol"], allowed=["local"], progress=False)
        np.testing.assert_array_equal(table.y < table.y.mean(), classes.y == 1)
        np.testing.assert_array_equal(table.X, classes.X)


def ready(name, rows=None):
    dataset, encoder = name.split("@")
    entry = DATASETS[dataset] if rows is None else {**DATASETS[dataset], "rows": rows}
    table = load_dataset(name, entry, ENCODERS[encoder], allowed=["local"], progress=False)
    assert table.record["source"]["verified"]
    assert "weights" not in table.record
    return table


@pytest.mark.parametrize("name", ["bbc@minilm", "bbc@mpnet"])
def test_a_linear_probe_tells_the_topics_of_bbc(data_folder, name):
    table = ready(name)
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=0.01))
    order = np.random.default_rng(100).permutation(len(table.y))
    X, y = table.X[order].astype(np.float32), table.y[order]
    assert cross_val_score(probe, X, y, cv=3).mean() >= 0.95


@pytest.mark.parametrize(
    ("name", "rows", "train", "bound"),
    [
        ("cifar10@resnet50", 12000, 10000, 0.80),
        ("stl10@resnet50", None, 2500, 0.93),
        ("imdb@minilm", 12000, 10000, 0.75),
        ("tinyimagenet100@resnet50", 5000, 4000, 0.60),
    ],
)
def test_a_linear_probe_tells_classes_of_pictures_and_reviews(
    data_folder, name, rows, train, bound
):
    table = ready(name, rows)
    order = np.random.default_rng(100).permutation(len(table.y))
    X, y = table.X[order].astype(np.float32), table.y[order]
    probe = make_pipeline(StandardScaler(), RidgeClassifier(alpha=1000.0))
    assert probe.fit(X[:train], y[:train]).score(X[train:], y[train:]) >= bound
