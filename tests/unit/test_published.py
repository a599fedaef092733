"""The published numbers in config/paper are those that the paper prints."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from nddv.methods.registry import METHODS
from nddv.problems.addresses import parse_corruption

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "config" / "paper"
PAPER = ROOT.parent / "shared" / "paper"

DETECTION = {
    "detection_n1000": "tab:mislabeled_data_detection",
    "detection_n10000": "tab:mislabeled_data_detection_n10000",
}
RATES = {
    "label_noise_rates": ("label", "tab:label_noise_proportion"),
    "feature_noise_rates": ("feature", "tab:feature_noise_proportion"),
}
DETECTION_LIKE = [*DETECTION, *RATES, "recent_methods", "imagenet100_scaling"]

# Our columns of the other tables, in the order in which the paper prints them.
OTHERS = {
    "datasets": ("tab:summary_of_datasets", ["rows", "features", "classes", "minority"]),
    "epsilon_delta": (
        "tab:epsilon_delta",
        ["epsilon_ref", "epsilon_ref_sd", "delta_ctx", "delta_ctx_sd"],
    ),
    "value_gaps": ("tab:value_gap_distribution", ["gap_50", "gap_75", "gap_90", "envelope"]),
    "rank_correlations": ("tab:rank_corr", ["loo", "loo_sd", "shapley", "shapley_sd"]),
    "threshold_sensitivity": (
        "tab:threshold_sensitivity_diagnostics",
        ["epsilon_u", "slope_tpr", "slope_fpr", "predicted_dtpr", "predicted_deo", "dtpr", "deo"],
    ),
    "adult_score_gaps": (
        "tab:adult_thm2",
        ["epsilon_u", "scaled_epsilon_u", "d_phi", "weight_range"],
    ),
    "adult_detection_gaps": (
        "tab:adult_cor4",
        ["slope_tpr", "slope_fpr", "predicted_dtpr", "predicted_deo", "dtpr", "deo"],
    ),
}


def read_published(path):
    return pd.read_csv(path, comment="#")


@pytest.fixture(scope="module")
def paper():
    found = sorted(PAPER.glob("*.txt"))
    if not found:
        pytest.skip(f"the text of the paper is not in {PAPER}")
    return found[0].read_text(encoding="utf-8")


def cells(lines):
    """The text of the cells of every row, without layout and mathematics."""
    lines = re.sub(r"\\(?:midrule|addlinespace(?:\[[^]]*\])?|multicolumn\{.*)", "", lines)
    lines = re.sub(r"\\multirow\{\d\}\{\*\}|\\(?:shortstack|citep?)\{[^}]*\}", "", lines)
    lines = re.sub(r"\\(?:mathbf|textbf|underline|emph|phantom|,)(?:\{-\})?|[${}]", "", lines)
    rows = [row.split("&") for row in re.split(r"\\\\", lines) if row.strip()]
    return [[cell.strip() for cell in row] for row in rows]


def table(paper, label):
    """Heading and rows of the table with a label."""
    printed = paper.split(rf"\label{{{label}}}")[1].split(r"\bottomrule")[0]
    heading, _, lines = printed.split(r"\toprule")[1].partition(r"\midrule")
    return cells(heading), cells(lines)


def numbers(text):
    """Numbers in a text; 1{,}000 has lost its braces."""
    return [float(found.replace(",", "")) for found in re.findall(r"-?\d[\d,]*\.?\d*", text)]


def names(heading):
    """Names of methods, that stand in two lines, without spaces and hyphens."""
    return [plain("".join(lines)) for lines in zip(*heading, strict=True)][1:]


def plain(title):
    return re.sub(r"[ -]", "", title)


def tuples(rows, columns):
    return [tuple(row) for row in rows[columns].to_numpy()]


@pytest.mark.parametrize("name", DETECTION)
def test_detection_is_as_printed(paper, name):
    heading, rows = table(paper, DETECTION[name])
    if name == "detection_n1000":  # a line of means and one of spreads, which has no data set
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows = [[f"{a} {b}" for a, b in zip(*pair, strict=True)] for pair in pairs]
    printed = [
        (row[0].strip().lower(), method, *numbers(cell))
        for row in rows
        for method, cell in zip(names(heading), row[1:], strict=True)
    ]
    ours = read_published(PUBLISHED / f"{name}.csv")
    ours["title"] = ours["title"].map(plain)
    assert tuples(ours, ["dataset", "title", "f1", "sd"]) == printed
    assert set(ours["n"]) == {int(name.removeprefix("detection_n"))}
    assert set(ours["corruption"]) == {"label10"}


@pytest.mark.parametrize("name", RATES)
def test_noise_rates_are_as_printed(paper, name):
    kind, label = RATES[name]
    heading, rows = table(paper, label)
    printed = [
        (f"{kind}{numbers(row[0])[0]:g}", method, *numbers(cell))
        for row in rows
        for method, cell in zip(names(heading), row[1:], strict=True)
    ]
    ours = read_published(PUBLISHED / f"{name}.csv")
    ours["title"] = ours["title"].map(plain)
    assert tuples(ours, ["corruption", "title", "f1", "sd"]) == printed
    assert (PUBLISHED / f"{name}.csv").read_text().splitlines()[1].count("neither its data set")


def test_recent_methods_are_as_printed(paper):
    tasks = {"Fairness": "fairness", "Feature noise": "feature10", "Label noise": "label10"}
    printed = []
    for dataset, task, baseline, value, nddv, _ in table(
        paper, "tab:recent_valuation_methods_comparison"
    )[1]:
        printed.append((dataset, tasks[task], baseline, *numbers(value)))
        printed.append((dataset, tasks[task], "NDDV", *numbers(nddv)))
    ours = read_published(PUBLISHED / "recent_methods.csv")
    ours["number"] = ours["f1"].fillna(ours["composite"])
    assert tuples(ours, ["dataset", "corruption", "title", "number"]) == printed


def test_the_undefined_composite_is_no_f1():
    ours = read_published(PUBLISHED / "recent_methods.csv")
    fairness = ours["corruption"] == "fairness"
    assert ours.loc[fairness, ["composite", "note"]].notna().all(axis=None)
    assert ours.loc[fairness, "f1"].isna().all()
    assert ours.loc[fairness, "note"].str.startswith("undefined: ").all()
    assert ours.loc[~fairness, "f1"].between(0, 1).all()


def test_imagenet100_is_as_printed(paper):
    printed = set()
    for evaluation, setting, metric, baseline, nddv, _ in table(
        paper, "tab:imagenet100_completed_diagnostics"
    )[1]:
        kind = "feature" if evaluation.startswith("Feature") else "label"
        rates = "5-45" if "mean" in evaluation else "10"
        size = re.search(r"n=([\d,]+)", setting)
        n = int(size[1].replace(",", "")) if size else 1000
        column = {"F1": "f1", "Recall-AUC": "area"}[metric]
        named, value = baseline.split(": ")
        for title, cell in ((named, value), ("NDDV", nddv)):
            printed.add((n, f"{kind}{rates}", title, column, *numbers(cell)))
    ours = read_published(PUBLISHED / "imagenet100_scaling.csv")
    found = ours.melt(["n", "corruption", "title"], ["f1", "area"]).dropna()
    assert {tuple(row) for row in found.to_numpy()} == printed
    means = ours["corruption"].str.endswith("5-45")
    assert ours.loc[means, "note"].str.contains("mean over noise rates").all()


@pytest.mark.parametrize("name", OTHERS)
def test_other_tables_are_as_printed(paper, name):
    label, columns = OTHERS[name]
    printed = [
        numbers(" ".join(row[1:])) for row in table(paper, label)[1] if numbers("".join(row[1:]))
    ]
    ours = read_published(PUBLISHED / f"{name}.csv")
    ours = ours[ours[columns].notna().all(axis=1)]  # data sets whose size is not printed
    assert ours[columns].to_numpy().tolist() == printed


@pytest.mark.parametrize("name", DETECTION_LIKE)
def test_detection_like_files_have_the_columns_and_names_of_the_library(name):
    ours = read_published(PUBLISHED / f"{name}.csv")
    columns = ["dataset", "n", "corruption", "method", "title", "f1", "sd"]
    assert ours.columns[: len(columns)].tolist() == columns
    assert set(ours["method"]) <= set(METHODS)
    assert not ours.duplicated(columns[:4]).any()
    assert ours["title"].groupby(ours["method"]).nunique().eq(1).all()
    for corruption in set(ours["corruption"]) - {"fairness", "label5-45", "feature5-45"}:
        parse_corruption(corruption)
