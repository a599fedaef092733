"""What the README says was found is what the committed report says."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
VERDICTS = ["verdict", "verdict_released", "verdict_ours"]
ROW = re.compile(r"^\| .+? \|" + 3 * r" ([a-z ]+) \|" + r" `([a-z0-9-]+)` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def claims():
    return pd.read_csv(ROOT / "reports" / "tables" / "claims.csv").set_index("id")


def test_every_verdict_of_the_readme_is_that_of_the_report(claims):
    rows = ROW.findall(README)
    assert len(rows) >= 8
    for *verdicts, name in rows:
        assert verdicts == list(claims.loc[name, VERDICTS]), name


def test_the_counts_of_the_readme_are_those_of_the_report(claims):
    found = re.search(
        r"Of (\d+) empirical claims, (\d+) are reproduced with the paper's equations, (\d+) "
        r"partly, (\d+) not, and (\d+) were not run",
        " ".join(README.split()),
    )
    assert found, "the README does not say how many claims are reproduced"
    counts = claims["verdict"].value_counts()
    kinds = ["reproduced", "partly", "not reproduced", "not run"]
    assert [int(one) for one in found.groups()] == [
        len(claims),
        *(int(counts.get(kind, 0)) for kind in kinds),
    ]
