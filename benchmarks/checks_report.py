"""The tables of reports/checks.md, from the judgements of judge_checks.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nddv.support.files import atomic_write

HEAD = """# Wrong labels: counted, found, mended

{made}

Errors were put into the labels of clean tables: so many percent, alike in all classes, or (c) four
times as often in classes of even code, to the next class. Labels may also be doubtful by nature, so
numbers are judged by what the errors add to the estimate of the same table before.

- *close*: share of cases whose added number is within ±25 % of the injected one, or ±2 % of rows.
- *close alone*: the same, where nothing is subtracted, as users have no estimate before; labels
  that are wrong or doubtful by nature then count against all ways.
- *covers*: share of cases whose 90 % interval, less the estimate before, holds the injected number.
- *covers added*: the same, where the interval also has the error of the estimate before.
- *ECE*: expected calibration error of the probability that a label is wrong, in ten bins, against
  the injected errors; natural ones count as if they were right.
- *precision*, *recall*: of the flagged rows, against the injected errors.
- *right label*: share of the found errors whose suggested label is the true one.

Ways: **nddv** is `nddv.check`. **cleanlab** is confident learning on what its users would give it:
five-fold probabilities of a logistic regression (digits, embeddings) or of boosted trees (tables),
on the same folds. **cleanlab+nddv** is the same on our held-out scores as probabilities. cleanlab
gives a number without an interval, and no probability that a label is wrong: one minus the
probability of the given class stands for it. Its number is by the method that it advises:
calibrated for fewer than four classes, its default otherwise.

*Close alone* and *covers added* were not planned: they were added when the first seed had been
looked at, since the number that is added hides what a way says of clean labels, and is a difference
of two estimates that both err.
"""

COLUMNS = {
    "close": "close",
    "close_alone": "close alone",
    "covers": "covers",
    "covers_added": "covers added",
    "ece": "ECE",
    "precision": "precision",
    "recall": "recall",
    "suggested_right": "right label",
}


def write_report(judged: pd.DataFrame, made: str, folder: Path | None) -> str:
    """The report as Markdown; with a folder, written there with all lines as CSV."""
    injected = judged[judged["injected"] > 0]
    parts = [HEAD.format(made=made)]
    titles = {"dataset": "By data set", "errors": "By share of wrong labels, in percent"}
    for column, title in titles.items():
        parts.append(f"## {title}\n\n{_markdown(_means(injected, column))}")
    parts.append(f"## All\n\n{_markdown(_means(injected.assign(all='all'), 'all'))}")
    parts.append(f"## Clean tables\n\n{CLEAN}\n{_markdown(_clean(judged))}")
    text = "\n".join(parts)
    if folder is not None:
        with atomic_write(folder / "checks.md") as temporary:
            temporary.write_text(text, encoding="utf-8")
        with atomic_write(folder / "checks.csv") as temporary:
            judged.to_csv(temporary, index=False, float_format="%.5g")
    return text


CLEAN = """Nothing was injected. *estimate*: share of labels that look wrong. *doubtful*: share of
rows whose label is, by the formula that drew it, less probable than the other; *beyond*: share of
rows that are flagged and not doubtful (target: at most 1 %). Other tables have no formula: their
labels may be wrong or doubtful by nature.
"""


def _means(lines: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means over the cases of each entry of the column, by way; in the order in which they come."""
    counts = lines.groupby([column, "way"], sort=False).size().rename("cases")
    means = lines.groupby([column, "way"], sort=False)[list(COLUMNS)].mean()
    return pd.concat([counts, means.rename(columns=COLUMNS)], axis=1).reset_index()


def _clean(judged: pd.DataFrame) -> pd.DataFrame:
    clean = judged[judged["injected"] == 0]
    clean = clean.assign(estimate=clean["estimate"] / clean["n"])
    shown = ["estimate", "flagged", "doubtful", "beyond"]
    if "beyond" not in clean:
        clean = clean.assign(doubtful=float("nan"), beyond=float("nan"))
    return clean.groupby(["dataset", "way"], sort=False)[shown].mean().reset_index()


def _markdown(table: pd.DataFrame) -> str:
    def cell(value: object) -> str:
        if isinstance(value, float):
            return "–" if value != value else f"{value:.3f}"
        return str(value)

    rows = [list(map(str, table.columns)), ["---"] * len(table.columns)]
    rows += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
