"""The README is short, and what it says was found is what the committed report says."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from nddv.reporting.readme import BEGIN, END, ROW, main, updated

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLAIMS = [
    {"id": "fast", "verdict": "partly", "verdict_released": "not run", "verdict_ours": "partly"},
    {"id": "good", "verdict": "partly", "verdict_released": "partly", "verdict_ours": "reproduced"},
]


@pytest.fixture(scope="module")
def claims():
    with (ROOT / "reports" / "tables" / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_verdicts_are_those_of_the_report(claims):
    assert updated(README, claims) == README, "run: make findings"
    assert len(ROW.findall(README)) >= 8


def test_the_counts_are_those_of_the_report(claims):
    found = re.search(
        r"Of (\d+) empirical claims, (\d+) are reproduced with the paper's equations, (\d+) "
        r"partly, (\d+) not, and (\d+) were not run",
        " ".join(README.split()),
    )
    assert found, "the README does not say how many claims are reproduced"
    verdicts = [claim["verdict"] for claim in claims]
    kinds = ["reproduced", "partly", "not reproduced", "not run"]
    assert [int(one) for one in found.groups()] == [len(claims), *map(verdicts.count, kinds)]


def test_verdicts_are_filled_in_and_words_stay():
    rows = "| it is good | | | | `good` |\n| it is fast | a | b | c | `fast` |\n"
    text = f"above\n{BEGIN}{rows}{END}\nbelow\n"
    new = updated(text, CLAIMS)
    assert "| it is good | partly | partly | reproduced | `good` |\n" in new
    assert "| it is fast | partly | not run | partly | `fast` |\n" in new
    assert "Of 2 empirical claims, 0 are reproduced with the paper's equations, 2 partly" in new
    assert (new.startswith("above\n"), new.endswith("below\n")) == (True, True)
    assert updated(new, CLAIMS) == new


def test_a_claim_that_is_not_in_the_report_is_named():
    with pytest.raises(ValueError, match="in no table: slow"):
        updated(f"{BEGIN}| it is slow | | | | `slow` |\n{END}", CLAIMS)
    with pytest.raises(ValueError, match="has no lines"):
        updated("nothing", CLAIMS)


def test_the_readme_of_a_folder_is_written(tmp_path):
    tables = tmp_path / "reports" / "tables"
    tables.mkdir(parents=True)
    with (tables / "claims.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, CLAIMS[0])
        writer.writeheader()
        writer.writerows(CLAIMS)
    (tmp_path / "README.md").write_text(f"{BEGIN}| it is fast | | | | `fast` |\n{END}")
    main(tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert "| it is fast | partly | not run | partly | `fast` |" in text


def test_the_readme_is_short():
    assert len(README.splitlines()) < 120
