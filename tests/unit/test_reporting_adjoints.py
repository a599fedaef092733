"""The growth of the co-states, from records to a table."""

from __future__ import annotations

from nddv.reporting.catalogue.tables import TABLES

ENTRY = TABLES["adjoint_norms"]


def record(dataset, seed, ratio=None, method="nddv-terminal"):
    about = {"problem": f"{dataset}/n1000/label10/seed{seed}", "seed": seed, "method": method}
    return about | ({"fit": {"adjoint_growth": ratio}} if ratio else {"gap": "NoValues: flat"})


def test_the_largest_ratio_of_all_seeds_and_what_has_none(written):
    table = ENTRY.load()(
        records=[
            record("2dplanes", 100, 1.5),
            record("2dplanes", 101, 4.25),
            record("2dplanes", 100, 2.5, "nddv-path"),
            record("bbc@minilm", 100),
        ]
    )
    assert table["largest_ratio"].tolist()[:2] == [1.5, 4.25]
    numbers, markdown, _ = written(ENTRY, table)
    lines = markdown.splitlines()
    paper = "NDDV, terminal (the paper's score)"
    assert f"| 2dplanes | 1000 | label10 | {paper} | 4.25 | 1.50, 4.25 |  |" in lines
    assert "| 2dplanes | 1000 | label10 | NDDV, path-integrated | 2.50 | 2.50 |  |" in lines
    assert f"| bbc@minilm | 1000 | label10 | {paper} | — |  | NoValues: flat |" in lines
    assert numbers["largest_ratio"].isna().tolist() == [False, False, False, True]
