"""The article: its numbers are those of the tables, and what they lack is a gap, not an error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from nddv.metadata import article
from nddv.metadata.article import FOLDER, metadata, numbers, runs_of, typeset
from nddv.reporting.comparing import TABLES
from nddv.reporting.tables.leaders import is_rival

ROOT = Path(__file__).parents[2]
MOST_BYTES = 1_000_000
ANEW = "is not what `make article` writes; run it"


@pytest.fixture(scope="module")
def told():
    return numbers(ROOT)


def part(tmp_path, *tables):
    """A project with some of the committed tables, and no figures."""
    for name in ("config/report.yaml", "CITATION.cff", *(f"{TABLES}/{one}.csv" for one in tables)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_committed_article_is_current(told):
    pdf = (ROOT / FOLDER / "article.pdf").read_bytes()
    assert len(pdf) < MOST_BYTES
    assert told["hash"].encode() in pdf, f"article.pdf {ANEW}"
    assert (ROOT / FOLDER / "metadata.yaml").read_text("utf-8") == metadata(told), ANEW


def test_its_metadata_are_those_that_the_journal_asks_for(told):
    content = yaml.safe_load(metadata(told))
    assert content["title"].startswith("[Re] ")
    assert content["type"] == "Replication"
    assert "Stochastic State-Adjoint Trajectories" in content["replication"][0]["cite"]
    wanted = {"authors", "affiliations", "keywords", "code", "data", "abstract", "domain"}
    assert wanted | {"language", "dates", "article", "journal", "review"} <= set(content)


def test_the_verdicts_are_those_of_the_table(told):
    claims = pd.read_csv(ROOT / TABLES / "claims.csv")
    counted = claims["verdict"].value_counts()
    of_paper = told["scores"][0]["counts"]
    assert {name: of_paper.get(name, 0) for name in counted.index} == counted.to_dict()
    assert len(told["claims"]) == len(claims)
    by_section = [sum(counts.values()) for _, counts in told["sections"]]
    assert sum(by_section) == len(claims)


def test_the_best_other_method_of_a_row_is_the_best(told):
    table = pd.read_csv(ROOT / TABLES / "detection_n1000.csv")
    rows = table[table["dataset"].eq("2dplanes") & table["method"].map(is_rival)]
    best = rows.loc[rows["f1"].idxmax(), "title"]
    (shown,) = [row for row in told["detection"][0]["rows"] if row[0] == "2dplanes"]
    assert shown[-1].endswith(f"({best})")
    assert not [name for name in rows["method"] if name.startswith(("nddv", "random", "chance"))]


def test_numbers_are_plain_data(told):
    assert json.loads(json.dumps(told, allow_nan=False)) == json.loads(json.dumps(told))


def test_words_between_marks_have_a_style():
    assert runs_of("**Data.** Some *are* `x`, a * b") == [
        ["strong", "Data."],
        ["", " Some "],
        ["emph", "are"],
        ["", " "],
        ["code", "x"],
        ["", ", a * b"],
    ]


@pytest.mark.parametrize("tables", [("claims",), ("detection_n1000", "datasets"), ("curation",)])
def test_it_is_typeset_from_whatever_tables_there_are(tmp_path, tables):
    pytest.importorskip("typst", reason="make conventions installs it")
    root = part(tmp_path, *tables)
    told = numbers(root)
    assert "wallclock_scaling" in told["lacking"]
    assert told["machine"] == "not recorded for the committed tables"
    assert typeset(root, told).startswith(b"%PDF")


def test_without_typst_it_says_what_to_do(tmp_path, monkeypatch, capsys):
    def lacking(root, told):
        raise ImportError("typst")

    monkeypatch.chdir(part(tmp_path, "claims"))
    monkeypatch.setattr(article, "typeset", lacking)
    assert article.main() == 2
    assert "make article" in capsys.readouterr().err
