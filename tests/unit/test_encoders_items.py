"""Documents and picture files of a user's own: encoded once, kept by content, read as seen."""

from __future__ import annotations

import io

import numpy as np
import pytest

pytest.importorskip("PIL", reason="the extra 'encode' is not installed")

from media import CALLS, PICTURE, TEXT, picture_bytes, use_small_encoders
from PIL import Image

from nddv.problems.encoders import encode_items, items, known_encoders
from nddv.problems.encoders.known import DATA, DEFAULTS
from nddv.problems.encoders.photos import KEPT_PIXELS, decode

WHITE, RED, GREEN, BLUE, BLACK = "white", (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    use_small_encoders(tmp_path, monkeypatch)


def texts(documents, **options):
    return encode_items(documents, progress=False, **options)


# ---------------------------------------------------------------------- cache


def test_items_are_encoded_once():
    first = texts(["abba", "cab", "abba"])
    np.testing.assert_array_equal(first.X, [[2, 2, 0], [1, 1, 1], [2, 2, 0]])
    assert first.X.dtype == np.float32
    assert CALLS == [["abba", "cab"]]
    second = texts(["b", "cab", "abba"])
    np.testing.assert_array_equal(second.X, [[0, 1, 0], [1, 1, 1], [2, 2, 0]])
    assert CALLS[1:] == [["b"]]
    texts(["abba", "b"])
    assert len(CALLS) == 2


def test_another_encoder_or_other_settings_have_rows_of_their_own():
    assert texts(["abe"]).X.shape == (1, 3)
    np.testing.assert_array_equal(texts(["abe"], encoder="vowels").X, [[1, 1, 0, 0, 0]])
    np.testing.assert_array_equal(
        texts(["abe"], encoder={**TEXT, "settings": {"alphabet": "xbe"}}).X, [[0, 1, 1]]
    )


def test_an_interrupted_run_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(items, "SHARD_ROWS", 2)
    with pytest.raises(KeyboardInterrupt):
        texts(["a", "b", "c", "stop", "aa"])
    assert CALLS == [["a", "b"]]
    np.testing.assert_array_equal(texts(["a", "b", "c", "aa"]).X[:, 0], [1, 0, 0, 2])
    assert CALLS == [["a", "b"], ["c", "aa"]]


@pytest.mark.parametrize("damage", [b"", b"PK\x05\x06" + bytes(18), b"no archive at all", None])
def test_a_damaged_shard_is_told_of_and_made_again(tmp_path, damage):
    expected = texts(["abba", "cab"]).X
    (shard,) = (tmp_path / "cache" / "items").rglob("*.npz")
    content = bytearray(shard.read_bytes())
    content[-200] ^= 1  # in the rows or in the directory
    shard.write_bytes(content if damage is None else damage)
    with pytest.warns(UserWarning, match=r"npz is damaged, and its items are encoded again"):
        np.testing.assert_array_equal(texts(["abba", "cab"]).X, expected)
    assert len(CALLS) == 2
    texts(["abba", "cab"])
    assert len(CALLS) == 2


def test_the_cache_may_be_elsewhere(tmp_path):
    texts(["a"], cache=tmp_path / "mine")
    assert list((tmp_path / "mine").rglob("*.npz"))
    assert not (tmp_path / "cache").exists()


# ------------------------------------------------------------------- encoders


def test_defaults_are_of_their_kind(monkeypatch):
    monkeypatch.undo()
    entries = known_encoders()
    assert {kind: entries[name]["data"] for kind, name in DEFAULTS.items()} == DATA
    for name in DEFAULTS.values():  # to be had from a package index
        assert "pypi" in {key for source in entries[name]["sources"] for key in source}


@pytest.mark.parametrize(
    ("encoder", "kind", "message"),
    [
        ("minilmm", "text", "unknown encoder 'minilmm'; did you mean 'minilm'"),
        ("minilm", "picture", "minilm does not encode a picture; take one of efficientnet-lite0"),
        (PICTURE, "text", "colours does not encode a text; take one of minilm, vowels"),
        ("minilm", "sound", "unknown kind of items 'sound'"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused(encoder, kind, message):
    with pytest.raises(ValueError, match=message):
        encode_items(["a"], encoder, kind, progress=False)


@pytest.mark.parametrize(
    ("kind", "function"),
    [("text", "nddv.problems.encoders.text:mean_pooled_transformer"), ("picture", None)],
)
def test_a_missing_package_is_named_before_anything_is_fetched(
    tmp_path, monkeypatch, kind, function
):
    entry = {"text": TEXT, "picture": PICTURE}[kind]
    entry = {**entry, "function": function or entry["function"], "sources": [{"kind": "nothing"}]}
    monkeypatch.setattr(items, "find_spec", lambda name: None)
    (tmp_path / "a.png").write_bytes(picture_bytes(RED))
    item = "a" if kind == "text" else tmp_path / "a.png"
    with pytest.raises(ValueError, match=r"must be installed: pip install 'nddv\[encode\]'"):
        encode_items([item], entry, kind, progress=False)


def test_an_encoder_that_breaks_its_promise_is_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 3\).*promises \(1, 7\)"):
        texts(["a"], encoder={**TEXT, "dimension": 7})


# ------------------------------------------------------------------- bad items


def test_empty_texts_are_refused_and_the_others_encoded():
    encoded = texts(["a", "", " \n", "b", None])
    assert encoded.refused == {
        1: "the text is empty",
        2: "the text is empty",
        4: "it is no text but of type NoneType",
    }
    np.testing.assert_array_equal(np.isnan(encoded.X).all(axis=1), [False, True, True, False, True])
    assert [bool(one) for one in encoded.sha256] == [True, False, False, True, False]


def black(side):
    """A small file of many pixels."""
    file = io.BytesIO()
    Image.new("1", (side, side)).save(file, "PNG", compress_level=1)
    return file.getvalue()


def test_pictures_that_cannot_be_read_are_refused(tmp_path):
    whole = picture_bytes("teal", size=(256, 256), form="JPEG")
    files = {
        "good.png": picture_bytes(RED),
        "again.png": picture_bytes(RED),
        "cut.jpg": whole[: len(whole) // 2],
        "empty.png": b"",
        "text.jpg": b"no picture",
        "bomb.png": black(12000),
        "worse.png": black(20000),
        "deep.tif": picture_bytes(RED, form="TIFF", mode="F"),
        "page.eps": picture_bytes(RED, form="EPS"),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.png").mkdir()
    names = [*files, "folder.png", "none.png"]
    encoded = encode_items([tmp_path / n for n in names], kind="picture", progress=False)
    reasons = {names[position]: reason for position, reason in encoded.refused.items()}
    large = "it has more than 134 million pixels; save it smaller"
    strange = "it is no JPEG, PNG, WEBP, BMP, GIF or TIFF file"
    assert "truncated" in reasons.pop("cut.jpg").lower()
    assert reasons == {
        "empty.png": strange,
        "text.jpg": strange,
        "bomb.png": large,
        "worse.png": large,
        "deep.tif": "its pixels have 32 bits; save it with 8 bits a colour",
        "page.eps": strange,
        "folder.png": "it is no file",
        "none.png": "there is no such file",
    }
    np.testing.assert_array_equal(encoded.X[:2], [[1, 0, 0]] * 2)
    assert np.isnan(encoded.X[2:]).all()


# -------------------------------------------------------------------- pictures


def corners(pixels):
    return [tuple(round(v / 255) for v in pixels[y, x]) for y in (0, -1) for x in (0, -1)]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF"])
def test_pictures_are_upright(form, orientation):
    """A photograph is stored as the camera was held; the orientation says how."""
    upright = np.zeros((48, 64, 3), np.uint8)
    upright[:24, :32], upright[:24, 32:], upright[24:, :32] = RED, GREEN, BLUE
    stored = {  # what a viewer undoes
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(stored)).save(file, form, exif=exif)
    seen = decode(file.getvalue())
    assert seen.shape == upright.shape
    assert corners(seen) == [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)]


@pytest.mark.parametrize(
    ("form", "mode"),
    [
        *(("PNG", mode) for mode in ("L", "1", "P", "LA", "RGBA", "I;16")),
        *(("JPEG", mode) for mode in ("L", "CMYK", "RGB")),
        *((form, "RGB") for form in ("WEBP", "BMP", "GIF", "TIFF")),
    ],
)
def test_every_kind_of_pixels_becomes_red_green_blue(form, mode):
    if mode == "I;16":
        file = io.BytesIO()
        Image.fromarray(np.full((6, 8), 65535, np.uint16)).save(file, form)
        content = file.getvalue()
    else:
        content = picture_bytes(WHITE, form=form, mode=mode)
    pixels = decode(content)
    assert pixels.shape == (6, 8, 3)
    assert pixels.dtype == np.uint8
    assert pixels.min() >= 254


def test_transparent_parts_are_white():
    file = io.BytesIO()
    Image.new("RGBA", (4, 4), (*BLACK, 0)).save(file, "PNG")
    assert decode(file.getvalue()).min() == 255
    palette = Image.new("P", (4, 4), 0)
    palette.putpalette([*BLACK, *RED])
    file = io.BytesIO()
    palette.save(file, "PNG", transparency=0)
    assert decode(file.getvalue()).min() == 255


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_large_pictures_are_shrunk_and_keep_their_shape(form):
    pixels = decode(picture_bytes(BLUE, size=(2000, 1000), form=form))
    assert pixels.shape[0] * pixels.shape[1] <= 1.01 * KEPT_PIXELS
    assert pixels.shape[1] / pixels.shape[0] == pytest.approx(2, rel=0.01)
    assert corners(pixels) == [(0, 0, 1)] * 4
