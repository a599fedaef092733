"""Files are written whole or not at all, and identified by content."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nddv
from nddv.files import (
    atomic_write,
    config_hash,
    load_arrays,
    load_values,
    measure,
    read_json,
    save_arrays,
    save_values,
    source_hash,
    versions,
    write_json,
)
from nddv.values import Values


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


@pytest.mark.parametrize("kind", ["truncated", "foreign", "single array", "pickle", "absent"])
def test_unreadable_arrays_name_the_file(tmp_path, kind):
    path = tmp_path / "broken.npz"
    if kind == "truncated":
        save_arrays(path, x=np.arange(10000))
        path.write_bytes(path.read_bytes()[:200])
    elif kind == "foreign":
        path.write_text("not an archive")
    elif kind == "single array":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    elif kind == "pickle":
        np.savez(path, x=np.array([{}], dtype=object))
    with pytest.raises((ValueError, FileNotFoundError), match=r"broken\.npz"):
        load_arrays(path)


def test_json_round_trip_and_error(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": [1.5, None]})
    assert read_json(tmp_path / "a.json") == {"a": [1.5, None], "b": 1}
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.json is not valid JSON"):
        read_json(tmp_path / "a.json")


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


def test_measure_and_versions():
    with measure() as block:
        sum(range(1000))
    assert block.seconds > 0
    assert block.peak_memory_mb > 1
    assert versions()["numpy"] == np.__version__


def test_log_to_catches_everything_on_stderr(tmp_path):
    code = (
        "import os, sys\n"
        "from nddv.files import log_to\n"
        f"with log_to({str(tmp_path / 'logs' / 'a.log')!r}):\n"
        "    print('from python', file=sys.stderr)\n"
        "    os.write(2, b'from below python\\n')\n"
        "    raise RuntimeError('the reason')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=_environment(), check=False)
    log = (tmp_path / "logs" / "a.log").read_text()
    assert done.returncode == 1
    assert "from python" in log
    assert "from below python" in log
    assert "the reason" in log


def _environment():
    source = str(Path(nddv.__path__[0]).parent)
    return {**os.environ, "PYTHONPATH": source}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can begin the peak anew")
def test_memory_is_that_of_the_block():
    """Not that of an earlier block, and an outer block has what an inner one took."""
    with measure() as large:
        np.ones(30_000_000).sum()
        with measure() as small:
            pass
    with measure() as outer, measure() as inner:
        np.ones(30_000_000).sum()
    assert large.peak_memory_mb > small.peak_memory_mb + 200
    assert outer.peak_memory_mb >= inner.peak_memory_mb > small.peak_memory_mb + 200
