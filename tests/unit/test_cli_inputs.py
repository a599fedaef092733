"""What the command line reads: texts, pictures, folders of pictures; what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("PIL", reason="the extra 'encode' is not installed")

from media import CALLS, picture_bytes, use_small_encoders

from nddv.cli import main
from nddv.cli.arguments import build_parser
from nddv.cli.inputs import read_inputs
from nddv.cli.media import Media
from nddv.problems.encoders import items

SHADES = {"dark": range(0, 100, 10), "light": range(150, 250, 10)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    use_small_encoders(tmp_path, monkeypatch)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def read(*words):
    return read_inputs(build_parser().parse_args(["value", *words]))


def fails(capsys, *words) -> str:
    """The one line of a command that must fail and write nothing."""
    before = sorted(Path().rglob("*"))
    assert main(["value", *words, "--epochs", "2"]) == 2
    out, err = capsys.readouterr()
    (line,) = [line for line in err.splitlines() if not line.startswith("nddv: note: ")]
    assert out == ""
    assert line.startswith("nddv: error: ")
    assert sorted(Path().rglob("*")) == before
    return line


def write_reviews(name="reviews.csv", n=20, **columns):
    y = np.arange(n) % 2
    table = pd.DataFrame(
        {
            "review": [("aab" if one else "bcc") + "." * i for i, one in enumerate(y)],
            "price": np.arange(n) ** 2,
            "stars": np.where(y, "good", "bad"),
        }
    ).assign(**columns)
    table.to_csv(name, index=False)
    return table


def write_photos(name="photos"):
    for kind, shades in SHADES.items():
        for shade in shades:
            path = Path(name, kind, f"{shade:03}.png")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture_bytes((shade, shade, shade)))
    return Path(name)


def write_paths(paths, name="photos.csv", **columns):
    table = pd.DataFrame({"path": paths, "y": np.arange(len(paths)) % 2}).assign(**columns)
    table.to_csv(name, index=False)


# ----------------------------------------------------------------------- texts


def test_a_column_of_texts_is_encoded_and_the_others_stay_features():
    table = write_reviews()
    inputs = read("reviews.csv", "--target", "stars", "--text", "review")
    assert list(inputs.X) == ["price", "review[0]", "review[1]", "review[2]"]
    counts = [[text.count(c) for c in "abc"] for text in table["review"]]
    np.testing.assert_array_equal(inputs.X.iloc[:, 1:], counts)
    np.testing.assert_array_equal(inputs.X["price"], table["price"])
    np.testing.assert_array_equal(inputs.y, table["stars"])
    assert inputs.media == (Media("review", "text", "minilm"),)
    assert inputs.columns[0] == {"column": "price", "as": "number"}
    entry = {"column": "review", "as": "text", "encoder": "minilm", "features": 3}
    assert entry.items() <= inputs.columns[1].items()
    assert inputs.excluded.empty
    assert list(inputs.excluded) == ["row", "reason"]
    assert inputs.notices == []


def test_texts_alone_are_features_enough():
    write_reviews()
    inputs = read("reviews.csv", "--target", "stars", "--text", "review", "--drop", "price")
    assert inputs.X.shape == (20, 3)
    assert inputs.X.dtypes.unique().tolist() == [np.float32]
    write_reviews("constant.csv", price=7)
    inputs = read("constant.csv", "--target", "stars", "--text", "review")
    assert inputs.X.shape == (20, 3)
    assert inputs.notices == ["column 'price' does not vary: dropped"]


def test_a_second_run_encodes_new_texts_only():
    write_reviews(n=20)
    read("reviews.csv", "--target", "stars", "--text", "review")
    write_reviews(n=22)
    read("reviews.csv", "--target", "stars", "--text", "review")
    assert [len(documents) for documents in CALLS] == [20, 2]


def test_two_columns_of_texts_and_another_encoder():
    write_reviews(title=[f"title {i}" for i in range(20)])
    words = ("--text", "review", "--text", "title", "--encoder", "vowels")
    inputs = read("reviews.csv", "--target", "stars", *words)
    assert inputs.X.shape == (20, 1 + 5 + 5)
    assert [media.encoder for media in inputs.media] == ["vowels", "vowels"]


def test_meta_and_validation_tables_are_encoded_alike():
    write_reviews()
    write_reviews("checked.csv", n=12, review=["abc", *["" for _ in range(5)], *["c"] * 6])
    inputs = read("reviews.csv", "--target", "stars", "--text", "review", "--meta", "checked.csv")
    assert list(inputs.side["X_meta"]) == list(inputs.X)
    assert inputs.side["X_meta"].shape == (7, 4)
    np.testing.assert_array_equal(inputs.side["X_meta"]["price"], np.array([0, *range(6, 12)]) ** 2)
    assert len(inputs.side["y_meta"]) == 7
    assert inputs.excluded.empty
    (notice,) = inputs.notices
    assert notice.startswith("5 rows of checked.csv left out: row 2 (review: the text is empty)")


def test_empty_texts_are_left_out_of_values_and_listed(capsys):
    write_reviews(review=["", "ab", "  ", *[f"ab{i}" for i in range(17)]])
    words = ("--target", "stars", "--text", "review", "--id", "review", "--report", "page.html")
    assert main(["value", "reviews.csv", *words, "--epochs", "2"]) == 0
    err = capsys.readouterr().err
    assert "note: 2 rows of reviews.csv left out: row 1 (review: the text is empty), row 3" in err
    values = pd.read_csv("reviews.values.csv")
    assert values["row"].tolist() == [2, *range(4, 21)]
    assert values["review"].iloc[0] == "ab"
    record = json.loads(Path("reviews.values.json").read_text())
    reason = "review: the text is empty"
    assert record["excluded"] == [{"row": 1, "reason": reason}, {"row": 3, "reason": reason}]
    assert record["input"]["rows"] == 18
    assert "--text review" in record["command"]
    assert "ab16" in Path("page.html").read_text()


def test_other_mistakes_are_found_before_texts_are_encoded(capsys):
    write_reviews(price=[None, *range(19)])
    line = fails(capsys, "reviews.csv", "--target", "stars", "--text", "review")
    assert "'price' has no entry at row 1" in line
    assert CALLS == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--text", "reviw"], "has no column 'reviw' (a text); did you mean 'review'?"),
        (["--text", "stars"], "--text stars: this column is the target"),
        (["--picture", "review", "--text", "review"], "--picture review: this column is also --te"),
        (["--text", "review", "--drop", "review"], "--text review: this column is also --drop"),
        (["--text", "review", "--encoder", "minlm"], "unknown encoder 'minlm'; did you mean 'mini"),
        (
            ["--text", "review", "--encoder", "efficientnet-lite0"],
            "--encoder efficientnet-lite0 encodes a picture, but no column is a picture",
        ),
        (["--encoder", "minilm"], "encodes a text, but no column is a text (--text COLUMN)"),
        (["--text", "review", "--encoder", "minilm", "--encoder", "vowels"], "two encoders of a t"),
    ],
)
def test_options_that_do_not_fit(capsys, words, message):
    write_reviews()
    assert message in fails(capsys, "reviews.csv", "--target", "stars", *words)


def test_a_table_without_any_text_is_refused(capsys):
    write_reviews(review="")
    line = fails(capsys, "reviews.csv", "--target", "stars", "--text", "review")
    assert "no row of reviews.csv can be used: row 1 (review: the text is empty), row 2" in line


def test_a_missing_package_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(items, "find_spec", lambda name: None)
    write_photos()
    assert "PIL must be installed: pip install 'nddv[encode]'" in fails(capsys, "photos")


# --------------------------------------------------------- a folder of pictures


def test_a_folder_of_pictures(capsys):
    write_photos()
    for stray in (
        "notes.txt",
        "dark/notes.txt",
        ".hidden.png",
        "dark/.hidden.png",
        "dark/.x/1.png",
    ):
        Path("photos", stray).parent.mkdir(exist_ok=True)
        Path("photos", stray).write_bytes(picture_bytes((9, 9, 9)))
    Path("photos", "none").mkdir()
    Path("photos", "light", "more").mkdir()
    Path("photos", "light", "more", "1.PNG").write_bytes(picture_bytes((222, 222, 222)))
    inputs = read("photos")
    assert inputs.target == "class"
    assert inputs.identifiers == ["path"]
    assert inputs.media == (Media("path", "picture", "efficientnet-lite0"),)
    assert inputs.table.frame["path"].tolist() == [
        *(f"dark/{shade:03}.png" for shade in SHADES["dark"]),
        *(f"light/{shade:03}.png" for shade in SHADES["light"]),
        "light/more/1.PNG",
    ]
    assert inputs.y.tolist() == ["dark"] * 10 + ["light"] * 11
    shades = np.array([*SHADES["dark"], *SHADES["light"], 222])[:, None] / 255
    np.testing.assert_allclose(inputs.X, np.repeat(shades, 3, axis=1), atol=1e-3)
    assert inputs.notices == [
        "2 files of photos, no picture of a class, left out: dark/notes.txt, notes.txt",
        "1 folder of photos without pictures: none",
    ]
    assert main(["value", "photos", "--epochs", "2", "--quiet"]) == 0
    values = pd.read_csv("photos.values.csv")
    assert values["path"].tolist() == inputs.table.frame["path"].tolist()
    assert values["value"].sum() == pytest.approx(0, abs=1e-9)
    record = json.loads(Path("photos.values.json").read_text())
    assert record["input"]["target"] == "class"
    assert record["command"] == "nddv value photos --epochs 2"


def test_the_checksum_of_a_folder_is_that_of_its_pictures_and_their_names():
    photos = write_photos()
    first = read("photos").sha256
    assert read("photos").sha256 == first
    (photos / "dark" / "000.png").rename(photos / "light" / "000.png")
    second = read("photos").sha256
    (photos / "light" / "000.png").write_bytes(picture_bytes((1, 1, 1)))
    assert len({first, second, read("photos").sha256}) == 3


def test_the_folder_may_be_the_working_folder(monkeypatch):
    monkeypatch.chdir(write_photos())
    assert main(["value", ".", "--epochs", "2", "--quiet"]) == 0
    assert len(pd.read_csv("photos.values.csv")) == 20
    assert len(read(".").X) == 20  # the result is no class


def test_trusted_pictures_are_another_folder(capsys):
    write_photos()
    write_photos("checked")
    inputs = read("photos", "--meta", "checked")
    np.testing.assert_array_equal(inputs.side["X_meta"], inputs.X)
    write_reviews()
    line = fails(capsys, "photos", "--meta", "reviews.csv")
    assert "reviews.csv is no folder; name one with a folder of pictures per class" in line
    line = fails(capsys, "reviews.csv", "--target", "stars", "--text", "review", "--meta", "photos")
    assert "photos is a folder; name one file" in line


def test_pictures_that_cannot_be_read_are_left_out_and_listed(capsys):
    photos = write_photos()
    (photos / "dark" / "020.png").write_bytes(b"damaged")
    (photos / "dark" / "030.png").write_bytes(picture_bytes((30, 30, 30))[:50])
    assert main(["value", "photos", "--epochs", "2", "--report", "page.html"]) == 0
    assert (
        "2 rows of photos left out: row 3 (dark/020.png: it is no JPEG" in capsys.readouterr().err
    )
    record = json.loads(Path("photos.values.json").read_text())
    assert [one["row"] for one in record["excluded"]] == [3, 4]
    assert record["excluded"][1]["reason"].startswith("dark/030.png: it cannot be read (")
    values = pd.read_csv("photos.values.csv")
    assert values["row"].tolist() == [1, 2, *range(5, 21)]
    assert values["path"].iloc[2] == "dark/040.png"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "photos has no pictures; make a folder per class"),
        (["a.png", "b.png"], "photos has pictures, but no folders of pictures; make a folder"),
        (["cat/a.txt"], "photos has no pictures"),
        (["cat/a.png"] + [f"cat/{i}.png" for i in range(20)], "one class only"),
        ([".cat/a.png"], "photos has no pictures"),
    ],
)
def test_folders_that_are_not_a_folder_per_class(capsys, files, message):
    Path("photos").mkdir()
    for i, file in enumerate(files):
        Path("photos", file).parent.mkdir(exist_ok=True)
        Path("photos", file).write_bytes(picture_bytes((i, i, i)))
    assert message in fails(capsys, "photos")


@pytest.mark.parametrize(
    "words", [["--target", "y"], ["--text", "path"], ["--picture", "path"], ["--drop", "path"]]
)
def test_a_folder_has_no_columns_to_name(capsys, words):
    write_photos()
    line = fails(capsys, "photos", *words)
    assert f"{words[0]} names a column of a table, but photos is a folder" in line


def test_a_folder_of_damaged_pictures_is_refused(capsys):
    for path in write_photos().rglob("*.png"):
        path.write_bytes(b"damaged")
    assert "no row of photos can be used: row 1 (dark/000.png: it is no" in fails(capsys, "photos")


def test_a_link_out_of_the_folder_is_refused(capsys):
    photos = write_photos()
    write_photos("others")
    (photos / "light" / "link.png").symlink_to(Path("others/light/150.png").absolute())
    line = fails(capsys, "photos")
    assert "the path 'light/link.png' leads to" in line
    assert "copy the pictures into that folder" in line
    (photos / "light" / "link.png").unlink()
    (photos / "light" / "link.png").symlink_to(Path("photos/light/160.png").absolute())
    assert len(read("photos").X) == 21
    (photos / "more").symlink_to(Path("others/light").absolute())
    assert len(read("photos").X) == 21  # links to folders are not followed, but told of
    assert any("left out: more" in notice for notice in read("photos").notices)


# ------------------------------------------------------------ a table of pictures


def test_paths_are_seen_from_the_folder_of_the_table(monkeypatch, tmp_path):
    write_photos()
    paths = [f"photos/dark/{shade:03}.png" for shade in SHADES["dark"]]
    write_paths(paths, size=np.arange(10) ** 2)
    monkeypatch.chdir(tmp_path)
    inputs = read("work/photos.csv", "--target", "y", "--picture", "path")
    assert list(inputs.X) == ["size", "path[0]", "path[1]", "path[2]"]
    np.testing.assert_allclose(inputs.X["path[1]"], np.array(SHADES["dark"]) / 255, atol=1e-3)
    assert inputs.identifiers == ["path"]


def test_pictures_that_are_missing_are_left_out():
    write_photos()
    paths = [f"photos/dark/{shade:03}.png" for shade in SHADES["dark"]]
    write_paths([*paths, "photos/dark/none.png", None, "photos/dark", 7, "https://a.b/c.png"])
    inputs = read("photos.csv", "--target", "y", "--picture", "path")
    assert len(inputs.X) == len(inputs.y) == len(inputs.table.frame) == 10
    assert dict(inputs.excluded.to_numpy()) == {
        11: "photos/dark/none.png: there is no such file",
        12: "path: there is no path",
        13: "photos/dark: it is no file",
        14: "7: there is no such file",
        15: "https://a.b/c.png: there is no such file",
    }


@pytest.mark.parametrize("path", ["../outside.png", "photos/../../outside.png", "link.png", "{0}"])
def test_a_path_out_of_the_folder_of_the_table_is_refused(capsys, folder, path):
    write_photos()
    outside = folder.parent / "outside.png"
    outside.write_bytes(picture_bytes((1, 2, 3)))
    Path("link.png").symlink_to(outside)
    write_paths(["photos/dark/000.png", path.format(outside)])
    line = fails(capsys, "photos.csv", "--target", "y", "--picture", "path")
    assert "row 2 (line 3 of photos.csv): the path" in line
    assert "copy the pictures into that folder" in line


def test_links_in_a_circle_are_refused(capsys):
    Path("a.png").symlink_to("b.png")
    Path("b.png").symlink_to("a.png")
    write_paths(["a.png"] * 3)
    line = fails(capsys, "photos.csv", "--target", "y", "--picture", "path")
    assert "a.png" in line


def test_a_table_needs_a_target(capsys):
    write_reviews()
    assert "which column of reviews.csv is to be predicted?" in fails(capsys, "reviews.csv")
    assert "none.csv does not exist" in fails(capsys, "none.csv")
