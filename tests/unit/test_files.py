"""Files are written whole or not at all, and identified by content."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nddv
from nddv.problems import load_problem
from nddv.problems.encoders import embed
from nddv.problems.tables import load_table
from nddv.support.files import (
    atomic_write,
    load_arrays,
    read_csv,
    read_json,
    save_arrays,
    write_csv,
    write_json,
)
from nddv.support.provenance import config_hash, source_hash
from nddv.values import Values, load_values, save_values


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def write_half():
        with atomic_write(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space.*make room there, or"),
        (OSError("4096 requested and 0 written"), "No space.*make room there, or"),  # of numpy
        (OSError(errno.EFBIG, "File too large"), "File too large.*ulimit -f"),
        (OSError(errno.EROFS, "Read-only file system"), "Read-only.*make the folder writable, or"),
    ],
)
def test_what_cannot_be_written_says_what_to_do(tmp_path, error, message):
    def write():
        with atomic_write(tmp_path / "whole.csv") as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(OSError, match=f"whole.csv could not be written .{message}"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_is_said_and_stays(tmp_path):
    (tmp_path / "a.json" / "mine").mkdir(parents=True)
    with pytest.raises(OSError, match="a.json could not be written.*remove that, and run again"):
        write_json(tmp_path / "a.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json" / "mine").is_dir()


def test_other_errors_stay_as_they_are(tmp_path):
    def write():
        with atomic_write(tmp_path / "a.csv"):
            (tmp_path / "absent").read_text()

    with pytest.raises(FileNotFoundError, match="absent"):
        write()


LEFT = """
import os, signal, sys
from nddv.support.files import atomic_write
with atomic_write(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_what_a_killed_process_left_goes_when_the_file_is_written_again(tmp_path):
    path = tmp_path / "a:b=c.txt"
    command = [sys.executable, "-c", LEFT, str(path)]
    killed = subprocess.run(command, env=_environment(), check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".")
    with atomic_write(path) as outer, atomic_write(path) as inner:
        assert not left.exists()
        assert {outer, inner} == set(tmp_path.iterdir())  # of a process that still runs
        outer.write_text("outer")
        inner.write_text("inner")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "outer"


def test_success_makes_folders_and_an_ordinary_file(tmp_path):
    path = tmp_path / "new" / "folder" / "file.txt"
    with atomic_write(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert path.stat().st_mode == ordinary.stat().st_mode
    assert list(path.parent.iterdir()) == [path]


def test_arrays_round_trip_and_refuse_objects(tmp_path):
    path = tmp_path / "a.npz"
    save_arrays(path, x=np.arange(3), name=np.array("text"))
    arrays = load_arrays(path)
    assert arrays["x"].tolist() == [0, 1, 2]
    assert str(arrays["name"]) == "text"
    with pytest.raises(ValueError, match="Python objects"):
        save_arrays(path, x=np.array([{}]))


@pytest.mark.parametrize("kind", ["empty", "foreign", "single array", "pickle", "folder", "absent"])
def test_unreadable_arrays_name_the_file(tmp_path, kind):
    path = tmp_path / "broken.npz"
    if kind == "empty":
        path.touch()
    elif kind == "foreign":
        path.write_text("not an archive")
    elif kind == "single array":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    elif kind == "pickle":
        np.savez(path, x=np.array([{}], dtype=object))
    elif kind == "folder":
        path.mkdir()
    with pytest.raises((ValueError, FileNotFoundError), match=r"broken\.npz"):
        load_arrays(path)


def test_damaged_arrays_are_never_read_as_others(tmp_path):
    """Bits flipped in every byte in turn: refused, or as it was where the bit means nothing."""
    path = tmp_path / "broken.npz"
    save_arrays(path, x=np.linspace(0, 1, 7), record=np.array("{}"))
    right, content = load_arrays(path), path.read_bytes()
    places = [(i, 1 << bit) for i in range(len(content)) for bit in (0, 6)]
    damaged = [content[:i] + bytes([content[i] ^ bit]) + content[i + 1 :] for i, bit in places]
    damaged += [content[:length] for length in range(0, len(content), 9)]
    refusals = []
    for broken in damaged:
        path.write_bytes(broken)
        try:
            found = load_arrays(path)
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert list(found) == list(right)
            for name, array in right.items():
                np.testing.assert_array_equal(found[name], array, strict=True)
    assert len(refusals) > len(damaged) / 2
    for message in refusals:
        assert "broken.npz is not a readable .npz file" in message
        assert message.endswith("delete it and run again")


class Malicious:
    """What runs code when it is unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self):
        return Path.touch, (self.witness,)


@pytest.mark.parametrize("where", ["arrays", "bare", "features", "shard", "values", "problem"])
def test_no_pickle_is_ever_loaded(tmp_path, where):
    witness = tmp_path / "was here"
    trap = np.array([Malicious(witness)], dtype=object)
    path = tmp_path / {"features": "features.npy", "shard": "00000.npz"}.get(where, "a.npz")
    if where == "features":
        save_arrays(tmp_path / "labels.npz", y=np.zeros(1), description=np.array("{}"))
        np.save(path, trap)
    elif where == "bare":
        path.write_bytes(pickle.dumps(trap[0]))
    else:
        np.savez(path, values=trap, x=trap, rows=trap, X_train=trap)
    read = {
        "features": lambda: load_table(tmp_path),
        "values": lambda: load_values(path),
        "problem": lambda: load_problem(path),
        "shard": lambda: embed(
            ["one"], lambda items: np.zeros((1, 1)), 1, tmp_path, progress=False
        ),
    }.get(where, lambda: load_arrays(path))
    if where == "shard":
        with pytest.warns(UserWarning, match="00000.npz is damaged"):
            read()
    else:
        with pytest.raises(ValueError, match=f"{path.name} .*delete it and run again"):
            read()
    assert not witness.exists()
    if where == "arrays":  # it is a trap
        np.load(path, allow_pickle=True)["x"]
        assert witness.exists()


def test_json_round_trip_and_error(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": [1.5, None]})
    assert read_json(tmp_path / "a.json") == {"a": [1.5, None], "b": 1}
    for broken in (b"", b"{", b'{"a": 1', b'{"a": \xff}'):
        (tmp_path / "a.json").write_bytes(broken)
        with pytest.raises(ValueError, match=r"a\.json is not valid JSON.*delete it and run again"):
            read_json(tmp_path / "a.json")


def test_csv_round_trip_and_error(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    write_csv(tmp_path / "a.csv", frame)
    pd.testing.assert_frame_equal(read_csv(tmp_path / "a.csv"), frame)
    for broken in (b"", b"a,b\n1,x\n2,y,z,w\n", b"a,b\n1,\xff\n"):
        (tmp_path / "a.csv").write_bytes(broken)
        with pytest.raises(ValueError, match=r"a\.csv is no readable CSV.*delete it and run again"):
            read_csv(tmp_path / "a.csv")


@pytest.mark.parametrize("stderr", [None, np.array([0.1, 0.2])])
def test_values_round_trip(tmp_path, stderr):
    values = Values(np.array([1.0, -1.0]), stderr, {"method": "m", "seed": 3})
    save_values(tmp_path / "m.npz", values)
    loaded = load_values(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.values, values.values)
    assert (loaded.stderr is None) == (stderr is None)
    assert loaded.record == values.record
    save_arrays(tmp_path / "other.npz", x=np.zeros(1))
    with pytest.raises(ValueError, match=r"other\.npz holds no array 'values'"):
        load_values(tmp_path / "other.npz")


def test_sensitivities_are_stored_once_and_values_follow(tmp_path):
    values = Values.centered(np.array([1.0, 2.0, 6.0]), None, {"method": "nddv-path"})
    save_values(tmp_path / "v.npz", values)
    assert set(load_arrays(tmp_path / "v.npz")) == {"sensitivities"}
    loaded = load_values(tmp_path / "v.npz")
    np.testing.assert_allclose(loaded.values, [-3.0, -1.5, 4.5])
    np.testing.assert_array_equal(loaded.sensitivities, [1.0, 2.0, 6.0])


def test_config_hash_sees_content_not_order():
    assert config_hash({"a": 1, "b": [1, 2]}) == config_hash({"b": [1, 2], "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})
    assert len(config_hash({})) == 12


def test_source_hash_sees_its_own_packages_only(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "inside.py").write_text("a = 1\n")
    (tmp_path / "module.py").write_text("b = 1\n")
    (tmp_path / "package" / "notes.txt").write_text("no source")
    package, module = source_hash("package", root=tmp_path), source_hash("module", root=tmp_path)
    both = source_hash("package", "module", root=tmp_path)
    assert len({package, module, both}) == 3
    assert both == source_hash("module", "package", root=tmp_path)
    (tmp_path / "package" / "notes.txt").write_text("still no source")
    assert source_hash("package", root=tmp_path) == package
    (tmp_path / "package" / "inside.py").write_text("a = 2\n")
    assert source_hash("package", root=tmp_path) != package
    assert source_hash("module", root=tmp_path) == module
    with pytest.raises(ValueError, match="no module or package named 'absent'"):
        source_hash("absent", root=tmp_path)


def test_source_hash_follows_imports(tmp_path):
    root = tmp_path / "lib"
    (root / "package").mkdir(parents=True)
    (root / "package" / "inside.py").write_text("from lib.deep import thing\n")
    (root / "deep.py").write_text("import os\nimport lib.deeper\n")
    (root / "deeper.py").write_text("def f():\n    from lib.late import g\n")
    (root / "late.py").write_text("g = 1\n")
    before = source_hash("package", root=root)
    (root / "late.py").write_text("g = 2\n")
    assert source_hash("package", root=root) == before
    (root / "deeper.py").write_text("def f():\n    return 2\n")
    assert source_hash("package", root=root) != before


def test_source_hash_of_the_estimator_covers_the_dynamics(tmp_path):
    root = tmp_path / "nddv"
    shutil.copytree(Path(nddv.__file__).parent, root)
    estimator, registry = (source_hash(name, root=root) for name in ("estimator", "methods"))
    with (root / "dynamics" / "kernels.py").open("a") as source:
        source.write("# changed\n")
    assert source_hash("estimator", root=root) != estimator
    assert source_hash("methods", root=root) == registry


def _environment():
    source = str(Path(nddv.__path__[0]).parent)
    return {**os.environ, "PYTHONPATH": source}
