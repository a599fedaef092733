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
from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.catalogue.tables import TABLES, experiment_table
from nddv.reporting.claims import SCORES
from nddv.reporting.contents import check_report, read_report, shown
from nddv.reporting.page import environment, picture, render_page
from nddv.reporting.registry import Figure, Table
from nddv.reporting.tables.run_times import run_times_table
from nddv.reporting.writing import lay_out, write_text

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
                {"table": "seconds"},
                {"table": "never_made"},
                {"figure": "curve"},
                {"figure": "no_picture"},
            ],
            "points": ["**First.** A point."],
            "links": {"Method": "../docs/method.md", "Nowhere": "../docs/none.md"},
        }
    ],
    "records": {"title": "Records", "introduction": "Versions."},
}

PROVENANCE = {"config": "abc", "seeds": [100, 101]}
UNUSED = {"part": "detection", "function": "m:f", "reads": {}}
ENTRIES = {
    "seconds": Table(
        name="seconds",
        title=f"Seconds {ATTACK}",
        caption="How **long**.",
        label="tab:time",
        columns={"dataset": "Data set", "seconds": f"Time {ATTACK}", "runs": ""},
        about="Mean.",
        **UNUSED,
    ),
    "never_made": Table(
        name="never_made", title="Never made", caption="Nothing.", columns={}, **UNUSED
    ),
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


CASE = {
    **{"claim": "faster", "score": "paper", "method": "nddv-terminal", "check": 1},
    **{"case": "a; b", "outcome": "fails"},
    **{"left": 1.0, "left_sd": 0.1, "left_whose": np.nan, "operator": ">=", "tolerance": 0.0},
    **{"right": 2.0, "right_sd": np.nan, "right_whose": np.nan, "times": 1.0, "plus": 0.0},
    **{"stands_for": np.nan, "note": np.nan},
}
CASES = (
    CASE,
    {**CASE, "case": "c", "outcome": "holds", "left": 3.0, "left_sd": np.nan, "left_whose": "x"},
    {**CASE, "case": "absent", "outcome": "not run", "left": np.nan},
    {**CASE, "case": "tiny", "stands_for": "imagenet100"},
    {**CASE, "case": "path", "score": "ours", "method": "nddv-path"},
)


def make_claims(**changes):
    claim = {
        "id": "faster",
        "claim": f"It is faster {ATTACK}",
        "where": "Section 6",
        "verdict": "partly",
        "verdict_released": "not applicable",
        "verdict_ours": "not reproduced",
        "ours": "nddv-path",
        "note": f"note {ATTACK}",
        "reason": "absent: no file",
        "reason_released": "no adjoint",
        "reason_ours": "absent: no file",
    }
    other = {**claim, "id": "other", "verdict": "reproduced", "verdict_ours": "not run"}
    other |= {"note": np.nan, "reason": np.nan, "reason_ours": "left out"}
    return pd.DataFrame([{**claim, **changes}, other])


SECONDS = pd.DataFrame({"dataset": ["2dplanes", ATTACK], "seconds": [0.7, np.nan], "runs": [5, 5]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of one table and one figure, and a document beside it."""
    for name in ("curve", "no_picture"):
        entry = Figure(name=name, title=f"Of {name}", caption="", **UNUSED)
        monkeypatch.setitem(FIGURES, name, entry)
    reports = tmp_path / "reports"
    (reports / "tables").mkdir(parents=True)
    (reports / "figures").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/method.md").write_text("x")
    for suffix in ("md", "csv"):
        (reports / f"tables/seconds.{suffix}").write_text("x")
    Image.new("RGB", (30, 20), "red").save(reports / "figures/curve.png")
    return reports


def make_page(folder, claims=None, cases=CASES, seconds=SECONDS):
    return render_page(
        REPORT,
        ENTRIES,
        {
            "claims": make_claims() if claims is None else claims,
            "claim_cases": pd.DataFrame(cases),
            "seconds": seconds,
        },
        {"seconds": [f"A note {ATTACK}."]},
        {"curve": folder / "figures/curve.png"},
        {"machine": ATTACK},
        folder,
    )


def decoded(uri):
    return Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).convert("RGB")


def test_a_picture_is_made_smaller_and_keeps_its_shape(tmp_path):
    Image.new("RGBA", (2800, 700), (0, 0, 0, 0)).save(tmp_path / "p.png")
    small = picture(tmp_path / "p.png")
    assert (small["width"], small["height"]) == (1400, 350) == decoded(small["uri"]).size
    assert decoded(small["uri"]).getpixel((5, 5)) == (255, 255, 255)  # transparent is white


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


def test_run_times_are_summed_by_method():
    measured = {"seconds": 2.0, "peak_memory_mb": 100.0}
    nddv = {"problem": "a/seed1", "seconds": 11.0, "fit_seconds": 10.0, "peak_memory_mb": 300.0}
    result = run_times_table(
        [
            {"method": "loo", "problem": "a/seed1", **measured},
            {"method": "loo", "problem": "a/seed2", **measured, "seconds": 4.0},
            {"method": "loo", "problem": "a/seed3", "gap": "no classes"},
            {"method": "odv:LOO", "problem": "a/seed1", **measured},
            {"method": "nddv-path", **nddv},
            {"method": "nddv-terminal", **nddv},
            {"method": "nddv-path:steps=5", **nddv, "seconds": 21.0, "fit_seconds": 20.0},
        ]
    )
    assert result.frame.to_dict("list") == {
        "method": ["loo", "odv:LOO", "nddv-path", "nddv-terminal"],
        "runs": [2, 1, 2, 1],
        "seconds": [6.0, 2.0, 32.0, 11.0],
        "median_seconds": [3.0, 2.0, 16.0, 11.0],
        "peak_memory_mb": [100.0, 100.0, 300.0, 300.0],
    }
    hours = (8 + 10 + 20 + 3) / 3600  # each fit once, and three readouts
    assert result.notes == (f"6 runs, {hours:.2f} hours in all.",)
    assert "hours in all" in lay_out(TABLES["run_times"], result.frame, result.notes).footnotes[-1]


def test_the_page_is_well_formed_and_escaped(folder):
    text = make_page(folder)
    reader = Reader(text)
    assert not reader.open
    assert "alert(" not in text.replace("alert(&#34;1&#34;)", "")
    assert text.count("<script") == 1
    # title (twice), about, introduction; title, heading, cell and note of a table; two claims, the
    # note of one, record
    assert reader.text.count("alert(") == 12


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
    assert "Not made in this configuration: 2 of 4 tables and figures" in text
    assert "Never made (table). Nothing. Of no_picture (figure)." in text


def test_verdicts_have_words_counts_and_cases(folder):
    text = make_page(folder)
    words = Reader(text).text
    assert '<span class="badge partly">partly</span><span class="told">nddv-terminal</span>' in text
    assert '<span class="badge not-applicable">not applicable</span></td>' in text
    assert "With the paper's equations 2 claims 1 reproduced 1 partly" in words
    assert "With the released procedure 2 claims 2 not applicable" in words
    assert "With ours 2 claims 1 not reproduced 1 not run" in words
    told = "a; b: 1.00 ± 0.10, expected at least 2 ✗ c: 3 (x), expected at least 2 ✓"
    assert told in words
    assert "tiny" not in words  # a stand-in, as the note says
    assert "With ours, nddv-path path: 1.00 ± 0.10, expected at least 2 ✗" in words
    assert '<b class="not-reproduced">✗</b>' in text


def test_reasons_are_told_once(folder):
    words = Reader(make_page(folder)).text
    assert words.count("not run: absent: no file") == 1  # with ours for the same reason
    assert "With the released procedure, not applicable: no adjoint" in words
    assert "With ours, not run: left out" in words


def test_without_claims_there_is_a_gap(folder):
    text = render_page(REPORT, ENTRIES, {}, {}, {}, {}, folder)
    assert not Reader(text).open
    assert "The claims were not judged in this configuration." in text


FOUND = {
    "title": "What was found",
    "introduction": "In this run.",
    "contents": [
        {
            "title": f"Seconds {ATTACK}",
            "tables": [name],
            "function": "nddv.reporting.findings:run_seconds",
            "sentence": "It took {seconds} s.",
        }
        for name in ("run_times", "never_made")
    ],
}


def make_findings(folder, full=""):
    times = {"method": ["nddv-terminal", "loo"], "runs": 5, "median_seconds": [1.5, 2.0]}
    never_run = {score.column: "not run" for score in SCORES}
    claims = pd.concat([make_claims(), make_claims(**never_run)[:1].assign(id="third")])
    frames = {"run_times": pd.DataFrame(times), "claims": claims}
    frames["claim_cases"] = pd.DataFrame(CASES)
    contents = [*REPORT["sections"][0]["contents"], {"table": "run_times"}]
    section = {**REPORT["sections"][0], "contents": contents}
    report = {**REPORT, "findings": FOUND, "sections": [section]}
    return render_page(report, ENTRIES, frames, {}, {}, {}, folder, full)


def test_the_page_opens_with_what_was_found(folder):
    text = make_findings(folder)
    reader = Reader(text)
    assert not reader.open
    assert "alert(" not in text.replace("alert(&#34;1&#34;)", "")
    assert reader.text.index("It took 1.50 s.") < reader.text.index("All claims.")
    assert 'title="median of the runs: 1.5"' in text
    assert "#table-run-times" in reader.all("a", "href")
    assert "This run says nothing about: Seconds <script>" in reader.text
    assert "full report" not in reader.text


def test_claims_that_were_not_run_are_folded_away(folder):
    (folder / "full.html").write_text("x")
    text = make_findings(folder, "full.html")
    folded = text.partition('<details class="absent">')[2].partition("</details>")[0]
    assert "1 of 3 claims were not judged in this run" in folded
    assert 'id="claim-third"' in folded
    assert 'id="claim-other"' not in folded
    assert '<a href="full.html">full report</a>' in text
    assert '<a href="full.html#cost-time">full report</a>' in text
    assert '<details class="absent">' not in make_page(folder)


def test_without_any_table_of_a_finding_there_is_a_gap(folder):
    report = {**REPORT, "findings": FOUND}
    text = render_page(report, ENTRIES, {}, {}, {}, {}, folder)
    assert "The tables of the findings were not made" in Reader(text).text


def test_many_cases_are_folded(folder):
    cases = [{**CASE, "case": f"case{i}"} for i in range(page.MANY_CASES + 3)]
    assert "3 more" in Reader(make_page(folder, cases=cases)).text


def test_tables_are_laid_out_from_their_numbers(folder):
    text = make_page(folder)
    assert "Time &lt;script" in text
    assert '<td>2dplanes</td><td class="n">0.700</td>' in text
    assert '<td class="n">—</td>' in text
    assert "runs" not in Reader(text).text  # in the CSV file only
    assert "Mean. A note" in Reader(text).text
    assert "2 rows" in Reader(text).text


def test_what_a_layout_makes_of_rows_are_numbers(folder):
    entry = experiment_table("rates", "Rates", "corruption")
    rows = {
        "dataset": "a",
        "n": 10,
        "corruption": ["label5", "label10"],
        "method": "loo",
        "f1": 0.5,
    }
    frame = pd.DataFrame(rows).assign(f1_sd=0.1, published=np.nan, place=0, note="")
    report = {**REPORT, "sections": [{**REPORT["sections"][0], "contents": [{"table": "rates"}]}]}
    frames = {"claims": make_claims(), "claim_cases": pd.DataFrame(CASES), "rates": frame}
    text = render_page(report, {"rates": entry}, frames, {}, {}, {}, folder)
    assert '<th scope="col">Method</th>' in text
    assert '<th scope="col" class="n">label10</th>' in text


def test_figures_have_the_words_of_the_catalogue(folder, monkeypatch):
    words = {"title": "A curve", "caption": f"It rises {ATTACK}.", "label": "fig:curve"}
    monkeypatch.setitem(FIGURES, "curve", Figure(name="curve", **words, **UNUSED))
    reader = Reader(make_page(folder))
    assert reader.all("img", "alt") == ["A curve"]
    assert f"A curve It rises {ATTACK}. In the paper: fig:curve" in reader.text


def test_long_tables_scroll_in_their_box(folder):
    assert 'class="wide tall" ' not in make_page(folder)
    long = pd.DataFrame({"dataset": [str(i) for i in range(page.LONG_TABLE + 1)]})
    assert 'class="wide tall" ' in make_page(folder, seconds=long)


def written(path, folder, **changes):
    frames = {"claims": make_claims(**changes), "claim_cases": pd.DataFrame(CASES)}
    figures = {"curve": folder / "figures/curve.png"}
    record = environment(PROVENANCE)
    write_text(path, render_page(REPORT, ENTRIES, frames, {}, figures, record, folder))
    return path.read_bytes()


def test_the_same_input_gives_the_same_bytes(folder):
    first = written(folder / "one.html", folder)
    assert first == written(folder / "two.html", folder)
    assert b"100, 101" in first


def test_a_page_that_fails_leaves_nothing(folder):
    with pytest.raises(ValueError, match="claim faster: 'maybe' is not one of"):
        written(folder / "index.html", folder, verdict="maybe")
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
            lambda r: r["sections"][0]["contents"][0].pop("table"),
            r"sections\[0\]\.contents\[0\]: needs one of the keys table or figure",
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
    report = read_report(path, SCHEMA)
    assert report == REPORT
    assert shown(report, "table") == ["seconds", "never_made"]


def test_names_of_tables_and_figures_are_those_that_there_are(tmp_path):
    path = write_report(
        tmp_path / "report.yaml",
        lambda r: r.update(sections=[{**r["sections"][0], "contents": [{"figure": "overveiw"}]}]),
    )
    with pytest.raises(ValueError, match=r"unknown figure 'overveiw'; did you mean 'overview'\?"):
        check_report(path, SCHEMA, {})


def test_findings_read_tables_that_there_are(tmp_path):
    path = write_report(
        tmp_path / "report.yaml",
        lambda r: r.update(
            sections=[{**r["sections"][0], "contents": [{"table": "datasets"}]}],
            findings={**FOUND, "contents": [{**FOUND["contents"][0], "tables": ["run_tmes"]}]},
        ),
    )
    with pytest.raises(ValueError, match=r"unknown table 'run_tmes'; did you mean 'run_times'\?"):
        check_report(path, SCHEMA, {})


def test_the_report_of_the_project_shows_everything():
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    experiments = {
        name: experiment_table(name, entry["title"], entry["across"])
        for name, entry in config["experiments"].items()
    }
    report = check_report(ROOT / "config/report.yaml", SCHEMA, experiments)
    own = {"claims", "claim_cases"}  # the first section
    assert {*TABLES, *experiments} - own <= set(shown(report, "table"))
    assert set(FIGURES) == set(shown(report, "figure"))
    with pytest.raises(ValueError, match="unknown table 'imagenet100_scaling'"):
        check_report(ROOT / "config/report.yaml", SCHEMA, {})
