"""Features on disk: read in pieces, with the values that they have in memory."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import nddv
from nddv.dynamics.schedule import Schedule, Training
from nddv.estimator.settings import Settings, resolved
from nddv.support.stored import StoredRows


@pytest.fixture
def table(tmp_path: Path) -> tuple[Path, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    path = tmp_path / "features.npy"
    np.save(path, x)
    return path, x


@pytest.mark.parametrize(
    "where",
    [
        slice(3, 9),
        slice(0, 300),
        slice(290, 400),
        slice(5, 5),
        np.array([7]),
        np.array([4, 5, 6, 299, 0, 1, 1, 2]),
        np.array([], dtype=int),
        np.random.default_rng(1).permutation(300),
    ],
    ids=str,
)
def test_indexing_gives_the_rows(table, where):
    path, x = table
    assert np.array_equal(StoredRows(path)[where], x[where])


def test_rows_that_follow_each_other_are_read_in_one_piece(table, monkeypatch):
    rows, pieces = StoredRows(table[0]), []
    read = StoredRows._read
    monkeypatch.setattr(
        StoredRows, "_read", lambda self, room, at: (pieces.append(len(room)), read(self, room, at))
    )
    rows[np.array([10, 11, 12, 40, 41, 3])]
    assert pieces == [3 * 16, 2 * 16, 16]


def test_rows_can_be_pickled_after_they_were_read(table):
    rows = StoredRows(table[0])
    assert np.array_equal(pickle.loads(pickle.dumps(rows))[slice(0, 2)], rows[slice(0, 2)])  # noqa: S301


def test_wrong_indices_are_refused(table):
    rows = StoredRows(table[0])
    for where in (np.array([300]), np.array([-1]), slice(0, 10, 2)):
        with pytest.raises(IndexError):
            rows[where]


@pytest.mark.parametrize("readout", ["path", "terminal", "participation"])
@pytest.mark.parametrize("block_size", [1, 16])
def test_values_are_those_of_the_data_in_memory(table, readout, block_size):
    """Bit by bit: the same batches in the same order."""
    path, x = table
    y = (x[:, 0] > 0).astype(int)
    settings = {"epochs": 3, "readout": readout, "block_size": block_size, "max_steps": 12}
    side = {"X_meta": x[:40], "y_meta": y[:40]}
    on_disk = nddv.NDDV(**settings).fit(nddv.open_rows(path), y, **side)
    in_memory = nddv.NDDV(**settings).fit(x, y, **side)
    mapped = nddv.NDDV(**settings).fit(np.load(path, mmap_mode="r"), y, **side)
    assert np.array_equal(on_disk.values_, in_memory.values_)
    assert np.array_equal(mapped.values_, in_memory.values_)
    assert on_disk.values_.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.filterwarnings("ignore:no meta data")
def test_without_meta_data_the_held_out_rows_stay_on_disk(table):
    path, x = table
    y = (x[:, 0] > 0).astype(int)
    settings = {"readout": "terminal", "epochs": 2, "block_size": 8}
    on_disk = nddv.NDDV(**settings).fit(nddv.open_rows(path), y)
    in_memory = nddv.NDDV(**settings).fit(x, y)
    assert np.array_equal(on_disk.values_, in_memory.values_)
    assert all(isinstance(fold.run.data.meta_rows.matrix, StoredRows) for fold in on_disk.folds_)


def test_auto_blocks_are_for_rows_on_disk(table):
    path, x = table
    y = (x[:, 0] > 0).astype(int)
    for given, expected in ((x, 1), (nddv.open_rows(path), 256)):
        model = nddv.NDDV(epochs=1, members=1).fit(given, y)
        assert model.folds_[0].run.training.block_size == expected


@pytest.mark.parametrize("n", [100, 101, 7])
@pytest.mark.parametrize("size", [2, 16, 200])
def test_shuffled_blocks_visit_every_row_once(n, size):
    training = Training.of(resolved(Settings(batch_size=10, epochs=2, block_size=size)), n)
    schedule = Schedule(training, n, seed=3)
    first, second = (torch.cat(schedule.batches(epoch)) for epoch in (0, 1))
    for order in (first, second):
        assert sorted(order.tolist()) == list(range(n))
        breaks = int((order.diff() != 1).sum())
        assert breaks <= -(-n // size)
    if n == 100 and size == 16:
        assert first.tolist() != second.tolist()


def test_a_step_budget_makes_batches_grow():
    """Cost is then linear in n: more points in a step, no more steps."""

    def schedule(n: int, **settings) -> Schedule:
        return Schedule(Training.of(resolved(Settings(**settings)), n), n, 0)

    settings = {"epochs": 5, "batch_size": 64, "max_steps": 50}
    small, large, larger = (schedule(n, **settings) for n in (320, 6400, 64000))
    assert (small.steps_per_epoch, large.steps_per_epoch, larger.steps_per_epoch) == (5, 10, 10)
    assert len(large.batches(0)[0]) == 640
    assert len(larger.batches(0)[0]) == 6400
    assert schedule(1000, epochs=9, max_steps=3).total_steps == 9


def test_missing_numbers_on_disk_are_named(tmp_path):
    x = np.ones((40_000, 2))
    x[33_000, 1] = np.inf
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(
        ValueError, match="X has a missing or infinite value in row 33000, column 1"
    ):
        nddv.NDDV(epochs=1).fit(nddv.open_rows(tmp_path / "x.npy"), np.zeros(40_000))


def test_constant_rows_on_disk_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((40, 2)))
    with pytest.raises(ValueError, match="no feature varies"):
        nddv.NDDV(epochs=1).fit(
            nddv.open_rows(tmp_path / "x.npy"), np.arange(40) % 2, np.ones((4, 2)), [0, 1, 0, 1]
        )


def test_files_that_are_no_rows_are_refused(tmp_path, table):
    path, x = table
    cut = tmp_path / "cut.npy"
    cut.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="cut.npy is cut short: 4828 of 4928 bytes"):
        nddv.open_rows(cut)
    (tmp_path / "text.npy").write_text("no numbers")
    with pytest.raises(ValueError, match="text.npy is not an .npy file"):
        nddv.open_rows(tmp_path / "text.npy")
    np.save(tmp_path / "objects.npy", np.array([[print]], dtype=object))
    with pytest.raises(ValueError, match="two-dimensional array of float32 or float64"):
        nddv.open_rows(tmp_path / "objects.npy")
    np.save(tmp_path / "columns.npy", np.asfortranarray(x))
    with pytest.raises(ValueError, match="column by column"):
        nddv.open_rows(tmp_path / "columns.npy")
    with pytest.raises(FileNotFoundError):
        nddv.open_rows(tmp_path / "none.npy")


def test_a_file_that_shrinks_meanwhile_is_an_error(table):
    path, _ = table
    rows = nddv.open_rows(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(OSError, match="has become shorter while it was read"):
        rows[slice(0, 300)]


def test_parquet_files_are_written_out_once(tmp_path, table):
    _, x = table
    frame = pd.DataFrame(x.astype(np.float64), columns=list("abcd")).assign(name="n")
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=64)
    rows = nddv.open_rows(path, columns=["a", "c"])
    assert np.array_equal(rows[slice(0, 300)], x[:, [0, 2]])
    written = rows.path.stat().st_mtime_ns
    assert nddv.open_rows(path, columns=["a", "c"]).path.stat().st_mtime_ns == written
    elsewhere = nddv.open_rows(path, columns=["b"], store=tmp_path / "elsewhere")
    assert elsewhere.path.parent.name == "elsewhere"
    assert np.array_equal(elsewhere[slice(0, 3)], x[:3, [1]])
    with pytest.raises(ValueError, match="column 'name' of table.parquet is .*, not numeric"):
        nddv.open_rows(path)
    with pytest.raises(ValueError, match="unknown column of table.parquet 'e'; known: a, b, c, d"):
        nddv.open_rows(path, columns=["e"])
    (tmp_path / "bad.parquet").write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="bad.parquet is not a Parquet file"):
        nddv.open_rows(tmp_path / "bad.parquet")
    assert not [
        p for p in tmp_path.iterdir() if p.name.startswith((".", "bad.")) and p.suffix == ".npy"
    ]


def test_columns_are_of_parquet_files_only(table):
    with pytest.raises(ValueError, match="only columns of a Parquet file"):
        nddv.open_rows(table[0], columns=["a"])
