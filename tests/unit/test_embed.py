"""Embedding a data set: shards that survive a kill, what is refused, reading ahead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import nddv
from nddv.problems.encoders import embed

DIMENSION = 3
ITEMS = [f"document {i}" for i in range(10)]


def encode(items):
    """A row that tells which item it is of."""
    return np.array([[float(item.split()[1]), len(item), 0.1] for item in items], np.float32)


def refuse(items):
    raise AssertionError(f"{len(items)} items are encoded again")


def stored(store):
    return {path.name: path.read_bytes() for path in sorted(store.glob("*.npz"))}


@pytest.mark.parametrize("shard_rows", [1, 3, 5, 10, 256])
def test_rows_come_in_the_order_of_the_items_whatever_the_shards(tmp_path, shard_rows):
    result = embed(ITEMS, encode, DIMENSION, tmp_path, shard_rows, progress=False)
    assert result.dtype == np.float16
    np.testing.assert_array_equal(result, encode(ITEMS).astype(np.float16))
    assert len(stored(tmp_path)) == -(-len(ITEMS) // shard_rows)


def test_no_items(tmp_path):
    assert embed([], refuse, DIMENSION, tmp_path, progress=False).shape == (0, DIMENSION)


def test_what_is_stored_is_not_encoded_again(tmp_path):
    first = embed(ITEMS, encode, DIMENSION, tmp_path, 4, progress=False)
    again = embed(ITEMS, refuse, DIMENSION, tmp_path, 4, progress=False)
    assert again.tobytes() == first.tobytes()


def test_the_bar_counts_rows_and_starts_at_those_already_done(tmp_path, capsys):
    embed(ITEMS, encode, DIMENSION, tmp_path, 4, label="tiny@test")
    assert "tiny@test: 100%" in capsys.readouterr().err
    (tmp_path / "00002.npz").unlink()
    embed(ITEMS, encode, DIMENSION, tmp_path, 4)
    shown = capsys.readouterr().err
    assert "8/10" in shown
    assert "10/10" in shown
    embed(ITEMS, encode, DIMENSION, tmp_path, 4, progress=False)
    assert capsys.readouterr().err == ""


KILLED = """
import os, signal, sys
import numpy as np
from nddv.problems.encoders import embed
from test_embed import DIMENSION, ITEMS, encode

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

calls = 0
def dies_at_the_third(items):
    global calls
    calls += 1
    if calls == 3:
        {at_the_third}
    return encode(items)

def half_a_file(path, rows):
    path.write_bytes(rows.tobytes()[:7])
    kill()

embed(ITEMS, dies_at_the_third, DIMENSION, sys.argv[1], 3, progress=False)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("at_the_third", ["kill()", "np.savez_compressed = half_a_file"])
def test_killed_and_run_again_gives_the_same_bytes(tmp_path, at_the_third):
    """Killed while the third shard is encoded, and while it is written."""
    whole, store = tmp_path / "whole", tmp_path / "killed"
    expected = embed(ITEMS, encode, DIMENSION, whole, 3, progress=False)

    source = textwrap.dedent(KILLED).format(at_the_third=at_the_third)
    paths = [str(Path(nddv.__file__).parents[1]), str(Path(__file__).parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    killed = subprocess.run(
        [sys.executable, "-c", source, str(store)], env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    finished = {path: path.stat().st_mtime_ns for path in store.glob("[0-9]*.npz")}
    assert sorted(path.name for path in finished) == ["00000.npz", "00001.npz"]

    encoded = []

    def watched(items):
        encoded.extend(items)
        return encode(items)

    result = embed(ITEMS, watched, DIMENSION, store, 3, progress=False)
    assert encoded == ITEMS[6:]
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert result.tobytes() == expected.tobytes()
    assert stored(store) == stored(whole)
    assert sorted(path.name for path in store.iterdir()) == sorted(stored(whole))  # nothing else


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def fill(path):
    path.write_bytes(b"\0" * path.stat().st_size)


def empty(path):
    path.write_bytes(b"")


def flip(path):
    """One bit of a number, which is then another finite number."""
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def widen(path):
    np.savez(path, rows=np.load(path)["rows"].astype(np.float32))


def lengthen(path):
    np.savez(path, rows=np.concatenate([np.load(path)["rows"]] * 2))


def rename(path):
    np.savez(path, columns=np.load(path)["rows"])


def spoil(path):
    np.savez(path, rows=np.full((4, DIMENSION), np.nan, np.float16))


@pytest.mark.parametrize("damage", [cut, fill, empty, flip, widen, lengthen, rename, spoil])
def test_a_damaged_shard_is_computed_again_and_only_that(tmp_path, damage):
    embed(ITEMS, encode, DIMENSION, tmp_path, 4, progress=False)
    whole = stored(tmp_path)
    damage(tmp_path / "00001.npz")
    encoded = []

    def watched(items):
        encoded.extend(items)
        return encode(items)

    with pytest.warns(UserWarning, match="00001.npz is damaged"):
        embed(ITEMS, watched, DIMENSION, tmp_path, 4, progress=False)
    assert encoded == ITEMS[4:8]
    assert stored(tmp_path) == whole


def test_other_shards_than_before_are_computed_again(tmp_path):
    embed(ITEMS, encode, DIMENSION, tmp_path, 4, progress=False)
    with pytest.warns(UserWarning, match="another shape"):
        result = embed(ITEMS, encode, DIMENSION, tmp_path, 5, progress=False)
    np.testing.assert_array_equal(result, encode(ITEMS).astype(np.float16))


@pytest.mark.parametrize("value", [np.nan, np.inf, 7e4, -7e4])
def test_what_float16_cannot_hold_is_refused_with_its_row(tmp_path, value):
    def spoilt(items):
        rows = encode(items)
        rows[rows[:, 0] == 6, 1] = value
        return rows

    with pytest.raises(ValueError, match="row 6: the encoder gave .*no finite") as caught:
        embed(ITEMS, spoilt, DIMENSION, tmp_path, 4, progress=False, label="tiny@test")
    assert caught.value.__notes__ == ["while rows 4 to 7 of tiny@test were encoded"]
    assert list(stored(tmp_path)) == ["00000.npz"]


def test_rows_of_another_shape_than_promised_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"shape \(4, 3\) for 4 items, .* promises \(4, 5\)"):
        embed(ITEMS, encode, 5, tmp_path, 4, progress=False)
    with pytest.raises(ValueError, match=r"shape \(3, 3\) for 4 items"):
        embed(ITEMS, lambda items: encode(items[1:]), DIMENSION, tmp_path, 4, progress=False)
    assert stored(tmp_path) == {}


@pytest.mark.parametrize(("dimension", "shard_rows"), [(0, 4), (3, 0)])
def test_sizes_must_be_positive(tmp_path, dimension, shard_rows):
    with pytest.raises(ValueError, match="must be positive"):
        embed(ITEMS, encode, dimension, tmp_path, shard_rows, progress=False)


class OnDisk:
    """Items that are read one at a time; ``read`` says which."""

    def __init__(self):
        self.read = threading.Event()

    def __len__(self):
        return len(ITEMS)

    def __getitem__(self, row):
        if row == 4:
            self.read.set()
        if row == 9:
            raise OSError("row 9 cannot be read")
        return ITEMS[row]


def test_the_next_shard_is_read_while_one_is_encoded_and_its_error_waits_its_turn(tmp_path):
    items = OnDisk()

    def waits(batch):
        assert items.read.wait(timeout=30), "nobody reads ahead"
        return encode(batch)

    with pytest.raises(OSError, match="row 9"):
        embed(items, waits, DIMENSION, tmp_path, 4, progress=False)
    assert list(stored(tmp_path)) == ["00000.npz", "00001.npz"]
