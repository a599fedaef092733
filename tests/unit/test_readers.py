"""Readers: every file format gives the items and labels that were written into it."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pytest
from PIL import Image

from nddv.problems.fetch import fetch
from nddv.problems.readers import Collection, Embeddings, Lazy, read


def files(folder, **entry):
    """Read what lies in a folder, or in one file, as a source of kind `file`."""
    source = {"kind": "file", "path": str(folder)}
    fetched = fetch("test", [source], progress=False)
    fetched.source["kind"] = "local"
    return read(fetched, entry)


def picture(seed, size=8):
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)


def png(array):
    stream = io.BytesIO()
    Image.fromarray(array).save(stream, format="PNG")
    return stream.getvalue()


def test_lazy_items_are_read_when_asked_for():
    asked = []

    def read_one(i):
        asked.append(i)
        return str(i)

    items = Lazy(4, read_one)
    assert len(items) == 4
    assert items[-1] == "3"
    assert items[1:3] == ["1", "2"]
    assert asked == [3, 1, 2]
    with pytest.raises(IndexError):
        items[4]


def test_documents_in_folders(tmp_path):
    for label, name, content in [
        ("tech", "2.txt", b"two"),
        ("arts", "1.txt", "one é".encode()),
        ("tech", "3.txt", b"\xa3 three"),
    ]:
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / name).write_bytes(content)
    (tmp_path / "README").write_text("no document")
    with pytest.raises(ValueError, match=r"3.txt is not utf-8 text"):
        files(tmp_path, read="documents", label="([a-z]+)/")
    found = files(tmp_path, read="documents", label="([a-z]+)/", other_encodings=["latin-1"])
    assert isinstance(found, Collection)
    assert list(found.items) == ["one é", "two", "£ three"]
    assert found.labels.tolist() == ["arts", "tech", "tech"]
    with pytest.raises(ValueError, match="must have one group"):
        files(tmp_path, read="documents", label="[a-z]+/")
    with pytest.raises(ValueError, match="no file matches the label pattern"):
        files(tmp_path, read="documents", label="nothing/(x)")


def test_pictures_in_folders_and_in_a_tar_file_are_the_same(tmp_path):
    folder = tmp_path / "folder"
    for label in ("n2", "n1", "n3"):
        for i in range(2):
            path = folder / "train" / label / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(picture(i + 10 * int(label[1]))))
    (folder / "train" / "n1" / "notes.txt").write_text("no picture")
    with tarfile.open(tmp_path / "pictures.tar", "w") as tar:
        tar.add(folder, arcname=".")
    options = {"read": "pictures", "label": "train/(n[0-9])/", "only_classes": ["n1", "n2"]}
    one, other = files(folder, **options), files(tmp_path / "pictures.tar", **options)
    for found in (one, other):
        assert found.labels.tolist() == ["n1", "n1", "n2", "n2"]
        np.testing.assert_array_equal(found.items[1], picture(11))
        np.testing.assert_array_equal(found.items[2], picture(20))


def test_a_broken_picture_is_named(tmp_path):
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / "a.png").write_bytes(png(picture(1))[:60])
    found = files(tmp_path, read="pictures", label="(n1)/")
    with pytest.raises(ValueError, match=r"n1/a.png cannot be read as a picture"):
        found.items[0]


def test_jpegs_in_one_file(tmp_path):
    flat = [np.full((16, 16, 3), level, dtype=np.uint8) for level in (10, 200)]
    jpegs = []
    for array in flat:
        stream = io.BytesIO()
        Image.fromarray(array).save(stream, format="JPEG", quality=95)
        jpegs.append(np.frombuffer(stream.getvalue(), dtype=np.uint8))
    offsets = np.cumsum([0, *map(len, jpegs)])
    path = tmp_path / "jpegs.npz"
    np.savez(
        path,
        jpeg=np.concatenate(jpegs),
        offsets=offsets,
        label=np.array([1, 0]),
        classes=np.array(["a", "b"]),
    )
    found = files(path, read="jpegs")
    assert found.labels.tolist() == ["b", "a"]
    for item, array in zip(found.items, flat, strict=True):
        assert np.abs(item.astype(int) - array).max() <= 2


def test_cifar_files(tmp_path):
    pictures = [picture(i, 32) for i in range(3)]
    rows = [
        np.concatenate([[label], image.transpose(2, 0, 1).ravel()]).astype(np.uint8)
        for label, image in zip([2, 0, 1], pictures, strict=True)
    ]
    (tmp_path / "data_batch_1.bin").write_bytes(b"".join(r.tobytes() for r in rows[:2]))
    (tmp_path / "data_batch_2.bin").write_bytes(rows[2].tobytes())
    found = files(tmp_path, read="cifar", classes=["cat", "dog", "frog"])
    assert found.labels.tolist() == ["frog", "cat", "dog"]
    for item, image in zip(found.items, pictures, strict=True):
        np.testing.assert_array_equal(item, image)
    with pytest.raises(ValueError, match="not all labels 0 to 2 have a name among 2 classes"):
        files(tmp_path, read="cifar", classes=["cat", "dog"])
    (tmp_path / "data_batch_2.bin").write_bytes(rows[2].tobytes()[:-1])
    with pytest.raises(ValueError, match=r"data_batch_2.bin is no CIFAR file"):
        files(tmp_path, read="cifar", classes=["cat", "dog", "frog"])


def test_stl_files(tmp_path):
    pictures = [picture(i, 96) for i in range(2)]
    # colour by colour, then column by column
    pixels = b"".join(image.transpose(2, 1, 0).tobytes() for image in pictures)
    (tmp_path / "train_X.bin").write_bytes(pixels)
    (tmp_path / "train_y.bin").write_bytes(bytes([2, 1]))
    found = files(tmp_path, read="stl", classes=["plane", "bird"])
    assert found.labels.tolist() == ["bird", "plane"]
    np.testing.assert_array_equal(found.items[1], pictures[1])
    (tmp_path / "train_y.bin").write_bytes(bytes([2, 1, 1]))
    with pytest.raises(ValueError, match="for 3 labels"):
        files(tmp_path, read="stl", classes=["plane", "bird"])


def test_ready_embeddings(tmp_path):
    rows = np.arange(6, dtype=np.float16).reshape(3, 2)
    np.savez(tmp_path / "e.npz", emb=rows, label=np.array([0, 1, 1]), names=np.array(["a", "b"]))
    found = files(tmp_path / "e.npz", read="embeddings", classes_array="names")
    assert isinstance(found, Embeddings)
    np.testing.assert_array_equal(found.X, rows)
    assert found.labels.tolist() == ["a", "b", "b"]
    np.savez(tmp_path / "e.npz", rows=rows)
    with pytest.raises(ValueError, match="lacks the array emb, label"):
        files(tmp_path / "e.npz", read="embeddings", classes=["a"])


def test_labels_below_zero_have_no_names(tmp_path):
    np.savez(tmp_path / "e.npz", emb=np.ones((2, 2)), label=np.array([0, -1]))
    with pytest.raises(ValueError, match="not all labels -1 to 0 have a name among 2 classes"):
        files(tmp_path / "e.npz", read="embeddings", classes=["a", "b"])
    np.savez(tmp_path / "e.npz", emb=np.ones((3, 2)), label=np.array([0, 1]))
    with pytest.raises(ValueError, match=r"emb is float64 of shape \(3, 2\), for 2 labels"):
        files(tmp_path / "e.npz", read="embeddings", classes=["a", "b"])


def test_damaged_archives_of_pictures_are_refused(tmp_path):
    (tmp_path / "p.tar").write_bytes(b"no tar file" * 100)
    with pytest.raises(ValueError, match=r"p\.tar cannot be read as a tar file"):
        files(tmp_path / "p.tar", read="pictures", label="([a-z]+)/")
    jpegs = {"jpeg": np.zeros(5, np.uint8), "label": np.array([0]), "classes": np.array(["a"])}
    np.savez(tmp_path / "j.npz", offsets=np.array([0, 9]), **jpegs)
    with pytest.raises(ValueError, match="its offsets do not fit its pictures and labels"):
        files(tmp_path / "j.npz", read="jpegs")
    np.savez(tmp_path / "j.npz", **jpegs)
    with pytest.raises(ValueError, match="lacks the array offsets"):
        files(tmp_path / "j.npz", read="jpegs")


def test_a_pickle_is_refused(tmp_path):
    np.savez(tmp_path / "e.npz", emb=np.array([{"a": 1}], dtype=object), label=np.zeros(1))
    with pytest.raises(ValueError, match="not a readable .npz file of plain arrays"):
        files(tmp_path / "e.npz", read="embeddings", classes=["a"])


def test_one_file_where_one_is_expected(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="one file is expected, there are 2"):
        files(tmp_path, read="table")


def test_unknown_readers_formulas_and_loaders_are_listed(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="unknown reader 'xml'; known: table, documents"):
        files(tmp_path / "a.csv", read="xml")
    for source, message in [
        ({"kind": "generated", "formula": "x"}, "unknown formula 'x'; known: 2dplanes"),
        ({"kind": "scikit-learn", "loader": "x"}, "unknown loader 'x'; known: digits"),
    ]:
        with pytest.raises(ValueError, match=message):
            read(fetch("t", [source]), source)
