"""The page of the report: complete in one file, escaped, with gaps where nothing was made."""

import base64
import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from nddv.reporting import page
from nddv.reporting.catalogue import FIGURES, FigureEntry
from nddv.reporting.contents import check_report, read_report, shown
from nddv.reporting.page import (
    TextTable,
    environment,
    picture,
    read_markdown,
    render_page,
    run_records,
    write_page,
)
from nddv.reporting.tables import to_markdown

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "workflow/schemas/report.schema.yaml"
ATTACK = '<script>alert("1")</script>'
REPORT = {
    "title": f"Title {ATTACK}",
    "about": f"About `code` and *this* {ATTACK}",
    "verdicts": {"title": "Verdicts", "introduction": "All claims."},
    "sections": [
        {
            "title": "Cost & time",
            "introduction": f"Seconds {ATTACK}",
            "contents": [
                {"table": "seconds", "caption": "How **long**.", "label": "tab:time"},
                {"table": "never_made", "caption": "Nothing."},
                {"figure": "curve"},
                {"figure": "no_picture"},
            ],
            "points": ["**First.** A point."],
            "links": {"Method": "../docs/method.md", "Nowhere": "../docs/none.md"},
        }
    ],
    "records": {"title": "Records", "introduction": "Versions."},
}


class Reader(HTMLParser):
    """Follows the tags; `open` is empty at the end of a well-formed page."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def all(self, tag, name):
        return [
            attributes[name] for kind, attributes in self.seen if kind == tag and name in attributes
        ]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def make_claims(**changes):
    claim = {
        "id": "faster",
        "claim": f"It is faster {ATTACK}",
        "where": "Section 6",
        "verdict": "partly",
        "verdict_path": "not run",
        "numbers": "a; b: 1 ± 0.1 >= 2 ✗; c: 3 (x) >= 2 ✓",
        "note": f"note {ATTACK}",
    }
    return pd.DataFrame(
        [{**claim, **changes}, {**claim, "id": "other", "verdict": "reproduced", "numbers": np.nan}]
    )


@pytest.fixture
def folder(tmp_path):
    """A folder with the files of one table and one figure, and a document beside it."""
    reports = tmp_path / "reports"
    (reports / "tables").mkdir(parents=True)
    (reports / "figures").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/method.md").write_text("x")
    text = pd.DataFrame({"Data set": ["2dplanes", ATTACK], "Seconds": ["**0.7 ± 0.1**", "—"]})
    (reports / "tables/seconds.md").write_text(to_markdown(text, f"Seconds {ATTACK}", "Mean."))
    (reports / "tables/seconds.csv").write_text("seconds\n0.7\n")
    Image.new("RGB", (30, 20), "red").save(reports / "figures/curve.png")
    return reports


def make_page(folder, claims=None, runs=None):
    return render_page(
        REPORT,
        make_claims() if claims is None else claims,
        {"seconds": folder / "tables/seconds.md"},
        {"curve": folder / "figures/curve.png"},
        {"machine": ATTACK},
        run_records(folder / "none") if runs is None else runs,
        folder,
    )


def test_tables_are_read_as_they_were_written(tmp_path):
    text = pd.DataFrame({"A|B": ["1|2", "", "a|"], "Value": ["**0.7 ± 0.1**", "—", "x"]})
    path = tmp_path / "t.md"
    path.write_text(to_markdown(text, "A title", "A footnote with | a bar."))
    assert read_markdown(path) == TextTable(
        "A title",
        ("A|B", "Value"),
        (("1|2", "**0.7 ± 0.1**"), ("", "—"), ("a|", "x")),
        "A footnote with | a bar.",
    )


@pytest.mark.parametrize("text", ["", "words", "# title\n\nwords", "| a |\n| --- |\n"])
def test_what_is_no_table_is_refused(tmp_path, text):
    path = tmp_path / "t.md"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"t\.md is not a Markdown table"):
        read_markdown(path)


def test_a_row_with_missing_cells_is_refused(tmp_path):
    path = tmp_path / "t.md"
    path.write_text("# t\n\n| a | b |\n| --- | --- |\n| 1 |\n")
    with pytest.raises(ValueError, match="1 cells below 2 headings"):
        read_markdown(path)


@pytest.mark.parametrize(
    ("column", "numeric"),
    [
        (["0.712 ± 0.034", "—", ""], True),
        (["**-3**", "−.5", "1,000", "1e-05", "5 %"], True),
        (["2dplanes", "3"], False),
        (["1000", "in 4 of 5 seeds"], False),
        (["—", ""], False),
    ],
)
def test_columns_of_numbers(column, numeric):
    assert TextTable("", ("c",), tuple((cell,) for cell in column)).numeric == (numeric,)


def decoded(uri):
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).convert("RGB")


def test_a_picture_is_made_smaller_and_keeps_its_shape(tmp_path):
    Image.new("RGBA", (2800, 700), (0, 0, 0, 0)).save(tmp_path / "p.png")
    found = picture(tmp_path / "p.png")
    assert (found["width"], found["height"]) == (1400, 350) == decoded(found["uri"]).size
    assert decoded(found["uri"]).getpixel((5, 5)) == (255, 255, 255)  # transparent is white


def test_rare_colours_of_a_picture_survive(tmp_path):
    """Thousands of soft tints must not cost a thin bar its blue or its green."""
    rng = np.random.default_rng(100)
    pixels = rng.integers(150, 255, size=(300, 400, 3)).astype(np.uint8)
    blue, green = (0, 114, 178), (0, 158, 115)
    pixels[0, :40], pixels[1, :40] = blue, green
    Image.fromarray(pixels).save(tmp_path / "p.png")
    image = np.asarray(decoded(picture(tmp_path / "p.png")["uri"])).astype(int)
    assert np.abs(image[0, 5] - blue).max() < 25
    assert np.abs(image[1, 5] - green).max() < 25


def test_run_records_are_summed_by_rule(tmp_path):
    for name, line in {
        "value/a/seed1.tsv": "1.5\t100",
        "value/b.tsv": "2.5\t50",
        "table.tsv": "0.5\tNA",
        "own.tsv": "9\t9",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\n{line}\n")
    found = run_records(tmp_path, without=["own"])
    assert found.to_dict("list") == {
        "rule": ["table", "value"],
        "jobs": [1, 2],
        "seconds": [0.5, 4.0],
        "memory_mb": [pytest.approx(np.nan, nan_ok=True), 100.0],
    }


def test_the_page_is_well_formed_and_escaped(folder):
    text = make_page(folder)
    reader = Reader(text)
    assert not reader.open
    assert "alert(" not in text.replace("alert(&#34;1&#34;)", "")
    assert text.count("<script") == 1
    # title (twice), about, introduction, heading and cell of a table, two claims, two notes, record
    assert reader.text.count("alert(") == 11


def test_nothing_is_fetched_from_elsewhere(folder):
    text = make_page(folder)
    reader = Reader(text)
    assert all(
        uri.startswith("data:") for uri in reader.all("img", "src") + reader.all("link", "href")
    )
    assert "http" not in text
    assert "url(" not in text
    assert not reader.all("script", "src")


def test_links_lead_to_files_and_anchors_that_exist(folder):
    reader = Reader(make_page(folder))
    links = reader.all("a", "href")
    anchors = [link[1:] for link in links if link.startswith("#")]
    ids = [attributes["id"] for _, attributes in reader.seen if "id" in attributes]
    assert set(anchors) <= set(ids)
    assert len(ids) == len(set(ids))
    files = [link for link in links if not link.startswith("#")]
    assert {*files} == {
        *("tables/seconds.csv", "tables/seconds.md", "figures/curve.png", "../docs/method.md")
    }
    assert all((folder / file).exists() for file in files)


def test_what_was_not_made_is_a_visible_gap(folder):
    text = Reader(make_page(folder)).text
    assert text.count("not made in this configuration") == 3  # and the run times
    assert "Never made Nothing. This table was not made" in text
    assert "No picture This figure was not made" in text


def test_verdicts_have_words_counts_and_cases(folder):
    text = make_page(folder)
    words = Reader(text).text
    assert '<span class="badge partly">partly</span>' in text
    assert '<span class="badge not-run">not run</span>' in text
    assert "The paper's score (terminal) 2 claims 1 reproduced 1 partly" in words
    assert "The path-integrated score 2 claims 2 not run" in words
    assert "a; b: 1 ± 0.1 ≥ 2 ✗" in words  # a semicolon inside a case does not split it
    assert "c: 3 (x) ≥ 2 ✓" in words


def test_claims_may_be_judged_with_one_score_only(folder):
    words = Reader(make_page(folder, make_claims().drop(columns="verdict_path"))).text
    assert "path-integrated score 2 claims" not in words


def test_many_cases_are_folded(folder):
    numbers = "; ".join(f"case{i}: {i} > 0 ✓" for i in range(page.MANY_CASES + 3))
    assert "3 more" in Reader(make_page(folder, make_claims(numbers=numbers))).text


def test_run_times_are_shown(folder):
    runs = pd.DataFrame(
        {
            "rule": ["a", "b"],
            "jobs": [2, 1],
            "seconds": [3600.0, 1800.0],
            "memory_mb": [np.nan, 5.0],
        }
    )
    words = Reader(make_page(folder, runs=runs)).text
    assert "3 jobs, 1.50 hours" in words
    assert "a 2 3600.0 —" in words


def test_figures_have_the_words_of_the_catalogue(folder, monkeypatch):
    entry = FigureEntry("A curve", f"It rises {ATTACK}.", "m:f", "fig:curve")
    monkeypatch.setitem(FIGURES, "curve", entry)
    reader = Reader(make_page(folder))
    assert reader.all("img", "alt") == ["A curve"]
    assert f"A curve It rises {ATTACK}. In the paper: fig:curve" in reader.text


def test_long_tables_scroll_in_their_box(folder):
    assert 'class="wide tall" ' not in make_page(folder)
    text = pd.DataFrame({"row": [str(i) for i in range(page.LONG_TABLE + 1)]})
    (folder / "tables/seconds.md").write_text(to_markdown(text, "Long", ""))
    assert 'class="wide tall" ' in make_page(folder)


def test_the_same_input_gives_the_same_bytes(folder):
    made = {}
    for name in ("one.html", "two.html"):
        write_page(
            folder / name,
            REPORT,
            make_claims(),
            {"seconds": folder / "tables/seconds.md"},
            {"curve": folder / "figures/curve.png"},
            environment("abc", [100, 101]),
            run_records(folder),
        )
        made[name] = (folder / name).read_bytes()
    assert made["one.html"] == made["two.html"]
    assert b"100, 101" in made["one.html"]


def test_a_page_that_fails_leaves_nothing(folder):
    with pytest.raises(ValueError, match="claim faster: 'maybe' is not one of"):
        write_page(
            *(folder / "index.html", REPORT, make_claims(verdict="maybe"), {}, {}, {}),
            run_records(folder),
        )
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "tables"]


def write_report(path, change):
    content = yaml.safe_load(yaml.safe_dump(REPORT))
    change(content)
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("title"), "the file: the key 'title' is missing"),
        (lambda r: r["sections"][0].update(point=[]), r"sections\[0\]\.point: .*'points'\?"),
        (
            lambda r: r["sections"][0]["contents"][0].pop("caption"),
            r"sections\[0\]\.contents\[0\]: the key 'caption'",
        ),
        (
            lambda r: r["sections"][0]["contents"].append({"figure": "curve"}),
            "figure curve is shown twice",
        ),
    ],
)
def test_a_wrong_description_is_refused(tmp_path, change, message):
    path = write_report(tmp_path / "report.yaml", change)
    with pytest.raises(ValueError, match=message):
        read_report(path, SCHEMA)


def test_a_right_description_is_read(tmp_path):
    path = write_report(tmp_path / "report.yaml", lambda report: None)
    found = read_report(path, SCHEMA)
    assert found == REPORT
    assert shown(found, "table") == ["seconds", "never_made"]


def test_names_of_tables_and_figures_are_those_that_there_are(tmp_path):
    path = write_report(
        tmp_path / "report.yaml",
        lambda r: r.update(sections=[{**r["sections"][0], "contents": [{"figure": "overveiw"}]}]),
    )
    with pytest.raises(ValueError, match=r"unknown figure 'overveiw'; did you mean 'overview'\?"):
        check_report(path, SCHEMA, [])
    whole = ROOT / "config/report.yaml"
    tables = shown(read_report(whole, SCHEMA), "table")
    check_report(whole, SCHEMA, tables)
    with pytest.raises(ValueError, match="unknown table 'leaders'"):
        check_report(whole, SCHEMA, [name for name in tables if name != "leaders"])


def test_the_report_of_the_project_shows_everything():
    report = read_report(ROOT / "config/report.yaml", SCHEMA)
    published = {path.stem for path in (ROOT / "config/paper").glob("*.csv")}
    assert published <= set(shown(report, "table"))
    assert set(FIGURES) <= set(shown(report, "figure"))
