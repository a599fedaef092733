"""The review list of the page: which rows, what is said of them, and nothing that could run."""

import base64
import hashlib
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from report_pages import make_page, make_report, make_table
from test_cli_page import Checker

from nddv.cli import page_media, page_review
from nddv.cli.media import Media
from nddv.cli.page_media import shown_media, thumbnail
from nddv.cli.page_review import (
    LABEL,
    choose_rows,
    complete,
    entry_text,
    feature_columns,
    stands_out,
)
from nddv.tabular.encoding import Rules, learn_encoding

ATTACK = '</script><script>alert("1")</script><img src=x onerror=alert(1)>'


def cards_of(page: str) -> list[str]:
    listed = page.partition('<ol class="cards">')[2].partition("</ol>")[0]
    return [card.partition(">")[2] for card in listed.split("<li ")[1:]]


def words(part: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", part).replace("&gt;", ">").split())


def test_the_answer_comes_first_then_the_list():
    page = make_page()
    places = [page.index(part) for part in ("About 2 labels", "Rows to review", "How sure the")]
    assert places == sorted(places)


def test_a_card_says_what_is_to_be_known():
    last, first, strange = sorted(cards_of(make_page()), key=lambda c: "Row 3<" in c)
    assert "Row 1<" in last
    assert "given yes → suggested no 97 % likely wrong" in words(last)
    assert "size = 39 points to yes." in words(first)
    assert "outlier" in words(strange)
    assert "suggested" not in words(strange)
    assert "points to" not in words(strange)
    # the row, and three trusted rows near it that have the other label
    assert words(first).count("similar: ") == 3
    assert re.findall(r"similar: (\d+) (\w+)", words(first))[0][1] == "yes"
    assert 'class="against">39<' in first


def test_without_features_there_is_a_list_without_evidence():
    page = make_page(evidence=False)
    assert len(cards_of(page)) == 3
    assert "similar: " not in page
    assert "point" not in words(cards_of(page)[0])


def test_the_page_is_well_formed_and_runs_no_other_script():
    names = {"size": np.arange(40.0), ATTACK: np.resize([ATTACK, "b"], 40)}
    page = make_page(make_table(**names))
    checker = Checker()
    checker.VOID = ("meta", "br", "img", "input")
    checker.feed(page)
    assert checker.open == []
    tags = [tag for tag, _ in checker.seen]
    assert tags.count("script") == 1
    assert not {"link", "iframe", "img"} & set(tags)
    handlers = [name for _, own in checker.seen for name in own if name.startswith("on")]
    assert handlers == []
    script = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?:", page)


def test_labels_of_any_kind_are_escaped():
    table = make_table()
    table.frame["y"] = np.where(table.frame["y"] == "no", '"><b onclick=x>', "it's & <i>")
    page = make_page(table)
    checker = Checker()
    checker.VOID = ("meta", "br", "input")
    checker.feed(page)
    assert checker.open == []
    given = {own["data-given"] for tag, own in checker.seen if tag == "li" and "data-given" in own}
    assert given == {'"><b onclick=x>', "it's & <i>"}


@pytest.mark.parametrize(
    ("flag", "said"), [(None, "more likely wrong than right"), (0.1, "budget")]
)
def test_the_flag_is_explained(flag, said):
    explained = make_page(flag=flag).partition("How to read this")[2].partition("<h2>")[0]
    assert said in explained


def test_nothing_to_review_is_said():
    page = make_page(wrong=0, outliers=0)
    assert "No row stands out" in page
    assert "<ol" not in page
    assert "<script" not in page


def test_a_list_that_is_cut_says_where_the_rest_is(monkeypatch):
    monkeypatch.setattr(page_review, "MOST", 5)
    page = make_page(wrong=8)  # the outlier is one of them
    assert len(cards_of(page)) == 5
    assert "5 rows of 8 that stand out" in words(page)
    assert "CSV file" in page


def chosen(most, **changes):
    rows = make_report(make_table(n=100), **changes).rows
    return choose_rows(rows, stands_out(rows, rows["flag"].to_numpy() == 1), most), rows


def test_each_fault_has_its_part_of_the_list():
    found, rows = chosen(12, wrong=50, outliers=30)
    assert len(found) == 12
    own = rows.iloc[found]
    assert own["p_wrong"].is_monotonic_decreasing
    assert own["outlier"].sum() >= 2
    surest = rows["p_wrong"].nlargest(10).index
    assert set(surest) <= set(found)
    found, rows = chosen(12, wrong=2, outliers=30)  # what one does not need, another has
    assert len(found) == 12
    assert rows.iloc[found]["outlier"].sum() == 10


def test_rows_that_were_not_checked_for_other_faults():
    rows = make_report(make_table()).rows
    bare = complete(rows.drop(columns=["typicality", "outlier", "group", "exact", "conflicting"]))
    faults = stands_out(bare, bare["flag"].to_numpy() == 1)
    assert [kind for kind, own in faults.items() if own.any()] == [LABEL]
    assert choose_rows(bare, faults, 10).tolist() == [0, 39]


def test_equal_rows_with_different_labels_are_named():
    size = np.arange(40.0)
    size[5] = size[30]
    colour = np.resize(["red", "green"], 40)
    colour[5] = colour[30]
    page = make_page(make_table(size=size, colour=colour))
    (card,) = (c for c in cards_of(page) if "Row 6<" in c)
    assert "Equal to row 31 ( yes )" in words(card)
    assert "6, 31 no, yes equal" in words(page.partition("Equal rows with different labels")[2])


def test_features_of_each_column():
    table = make_table(two=np.resize(["a", "b"], 40), gaps=[None, *range(39)])
    encoding = learn_encoding(table, Rules(ignore=("y",), impute=True))
    names = encoding.apply(table).columns
    found = {name: [names[j] for j in own] for name, own in feature_columns(encoding.columns)}
    assert found == {
        "size": ["size"],
        "colour": ["colour=blue", "colour=green", "colour=red"],
        "two": ["two=b"],
        "gaps": ["gaps", "gaps (missing)"],
    }


def test_columns_that_contradict_are_shown_although_there_are_many():
    table = make_table(**{f"x{j}": np.arange(40) % (j + 2) for j in range(20)})
    table.frame["size"] = table.frame.pop("size")  # the last of the columns
    card = next(c for c in cards_of(make_page(table)) if "Row 40<" in c)
    heads = re.findall("<th>(.*?)</th>", card.partition("</thead>")[0])
    assert heads == ["", "y", "colour", *(f"x{j}" for j in range(10)), "size"]


def test_tables_that_are_read_in_pieces_show_the_columns_that_they_have():
    page = make_page(held=["colour", "y"])
    assert "<th>size</th>" not in page
    assert "1 more column in use is not shown" in page
    card = next(c for c in cards_of(page) if "Row 40<" in c)
    assert "size points to yes." in words(card)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (None, ""),
        (np.nan, ""),
        (pd.NaT, ""),
        (pd.NA, ""),
        (0.1 + 0.2, "0.3"),
        (12345678, "12345678"),
    ],
)
def test_entries_in_few_letters(entry, text):
    assert entry_text(entry) == text
    assert len(entry_text("x" * 1000)) == 60


def test_texts_are_shortened_and_expand():
    reviews = [f"{'good ' * 100}<b>{i}</b>" for i in range(40)]
    page = make_page(make_table(review=reviews), [Media("review", "text", "any")])
    card = cards_of(page)[0]
    assert "<details" in card
    assert "&lt;b&gt;0&lt;/b&gt;</details>" in card
    assert "<th>review</th>" not in card  # not again as a column
    text = {"short": "good", "whole": None, "column": "t"}
    assert shown_media({"t": {4: "good"}}, 4) == [text]
    (long,) = shown_media({"t": {0: "a" * 9000}}, 0)
    assert "9,000 letters in all" in long["whole"]
    (small,) = shown_media({"t": {0: "a b " * 900}}, 0, "small")
    assert small["whole"] is None
    assert len(small["short"]) < page_media.SHORT


def test_pictures_are_small_and_inside_the_page(tmp_path):
    rng = np.random.default_rng(104)
    for i in range(40):
        Image.fromarray(rng.integers(0, 255, (300, 400, 3), np.uint8)).save(tmp_path / f"{i}.png")
    (tmp_path / "0.png").write_bytes(b"damaged")
    table = make_table(photo=[f"{i}.png" for i in range(40)])
    object.__setattr__(table, "path", tmp_path / "things.csv")
    page = make_page(table, [Media("photo", "picture", "any")])
    sources = re.findall(r'<img src="([^"]*)" alt="photo">', page)
    assert 3 <= len(sources) <= 12
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    sizes = {Image.open(BytesIO(base64.b64decode(s.partition(",")[2]))).size for s in sources}
    assert sizes == {(192, 144), (96, 72)}
    assert "photo: cannot be shown" in page


def test_transparent_pictures_have_a_white_ground(tmp_path):
    Image.new("RGBA", (10, 10), (255, 0, 0, 0)).save(tmp_path / "a.png")
    source = thumbnail(tmp_path / "a.png", 8)
    picture = Image.open(BytesIO(base64.b64decode(source.partition(",")[2])))
    assert min(picture.getpixel((4, 4))) > 250
    assert thumbnail(Path(tmp_path / "none.png"), 8) is None
