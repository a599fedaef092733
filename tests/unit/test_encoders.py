"""Encoders: from an entry to a function; what encoders.yaml promises."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch

from nddv.problems.encoders import known_encoders, load_encoder
from nddv.problems.encoders.ahead import ahead
from nddv.problems.encoders.load import _find
from nddv.problems.encoders.weights import find_one

ENCODERS = known_encoders()


@pytest.mark.parametrize("name", ENCODERS)
def test_the_function_of_an_entry_exists_and_takes_its_settings(name):
    entry = ENCODERS[name]
    inspect.signature(_find(entry["function"])).bind(Path(), "cpu", **entry["settings"])
    assert entry["data"] in ("text", "image")


@pytest.mark.parametrize("name", ENCODERS)
def test_every_source_of_weights_is_verified(name):
    """Weights in a .pth file are read on the strength of their checksum."""
    for source in ENCODERS[name].get("sources", []):
        assert len(source["sha256"]) == 64, source


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "my_encoder.py").write_text(
        "import numpy as np\n"
        "def lengths(folder, device, *, scale=1.0):\n"
        "    assert device in ('cpu', 'cuda')\n"
        "    offset = float((folder / 'offset.txt').read_text())\n"
        "    return lambda items: np.array([[scale * len(i) + offset] for i in items], 'f4')\n"
        "def forgetful(folder, device):\n"
        "    pass\n"
    )
    (tmp_path / "offset.txt").write_text("100")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_your_own_encoder_is_one_function_and_one_entry(own_module):
    entry = {"function": "my_encoder:lengths", "settings": {"scale": 2.0}}
    for device in ("auto", "cpu"):
        encode = load_encoder(entry, own_module, device)
        np.testing.assert_array_equal(encode(["a", "bcd"]), [[102], [106]])
    np.testing.assert_array_equal(
        load_encoder({"function": "my_encoder:lengths"}, str(own_module))(["a"]), [[101]]
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"function": "my_encoder.lengths"}, "write it as module:function"),
        ({"function": "my_encoder:"}, "write it as module:function"),
        ({"function": "no_such_module:f"}, "no_such_module.*PYTHONPATH"),
        ({"function": "my_encoder:widths"}, "my_encoder has no function widths"),
        ({"function": "my_encoder:lengths", "settings": {"size": 3}}, r"\['size'\] do not fit"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused_with_the_reason(own_module, entry, message):
    with pytest.raises(ValueError, match=message):
        load_encoder(entry, own_module)


def test_an_encoder_function_must_return_a_function(own_module):
    with pytest.raises(TypeError, match="my_encoder:forgetful must return a function, got None"):
        load_encoder({"function": "my_encoder:forgetful"}, own_module)


def test_unknown_and_absent_devices_are_refused(own_module, monkeypatch):
    entry = {"function": "my_encoder:lengths"}
    with pytest.raises(ValueError, match="got 'gpu'"):
        load_encoder(entry, own_module, "gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="sees no GPU"):
        load_encoder(entry, own_module, "cuda")


def test_weights_are_found_at_any_depth_and_must_be_one_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="found: none"):
        find_one(tmp_path, "*.bin")
    inner = tmp_path / "package" / "model"
    inner.mkdir(parents=True)
    (inner / "a.bin").touch()
    assert find_one(tmp_path, "*.bin") == inner / "a.bin"
    (tmp_path / "b.bin").touch()
    with pytest.raises(FileNotFoundError, match="found: b.bin, package"):
        find_one(tmp_path, "*.bin")


def test_ahead_keeps_the_order_and_raises_where_the_output_is_due():
    assert list(ahead(lambda x: x * x, range(5))) == [0, 1, 4, 9, 16]
    assert list(ahead(abs, [])) == []
    outputs = ahead(lambda x: 1 / x, [2, 1, 0])
    assert next(outputs) == 0.5
    assert next(outputs) == 1
    with pytest.raises(ZeroDivisionError):
        next(outputs)
