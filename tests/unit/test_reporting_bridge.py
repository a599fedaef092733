"""The figure of the bridge budget shows the means of the terms and the gap."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.figures.bridge import TERMS, bridge_budget
from nddv.reporting.figures.style import save_figure


@pytest.fixture
def budgets() -> pd.DataFrame:
    rng = np.random.default_rng(100)
    rows = []
    for dataset in ("2dplanes", "digits"):
        for point in range(4):
            for coalition, size in enumerate((5, 49, 20)):
                terms = dict(zip(TERMS, rng.random(len(TERMS)), strict=True))
                budget = sum(terms.values())
                row = {"dataset": dataset, "readout": "terminal", "point": point, "lambda0": 0.5}
                row |= {"coalition": coalition, "size": size, "budget": budget}
                rows.append(row | terms | {"gap": 0.1 * budget, "holds": point > 0})
                rows[-1]["marginal"] = (-1) ** point * 0.02
    return pd.DataFrame(rows)


def test_bars_are_the_means_and_end_at_the_budget(budgets: pd.DataFrame) -> None:
    figure = bridge_budget(budgets)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 2
    own = budgets[budgets["dataset"] == "2dplanes"]
    *bars, gaps = panels[0].containers
    assert len(bars) == len(TERMS)
    for row, coalition in enumerate((1, 2, 0)):  # the largest coalition first
        mean = own[own["coalition"] == coalition].mean(numeric_only=True)
        widths = [container[row].get_width() for container in bars]
        assert widths == pytest.approx(list(mean[list(TERMS)]))
        last = bars[-1][row]
        assert last.get_x() + last.get_width() == pytest.approx(mean["budget"])
        assert gaps[row].get_width() == pytest.approx(mean["gap"])
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert labels == ["|C| = 49", "|C| = 20", "|C| = 5"]


def test_marginals_of_both_signs_do_not_cancel(budgets: pd.DataFrame) -> None:
    notes = [text.get_text() for text in bridge_budget(budgets).axes[0].texts]
    assert sum("|Δ| 0.02" in note for note in notes) == 3


def test_the_title_counts_where_the_bound_holds(budgets: pd.DataFrame) -> None:
    titles = [axes.get_title() for axes in bridge_budget(budgets).axes]
    assert titles[0] == "2dplanes, readout terminal: the bound holds in 9 of 12 cases"


def test_coalitions_can_be_grouped(budgets: pd.DataFrame) -> None:
    budgets["group"] = np.where(budgets["size"] > 30, "large", "small")
    panel = bridge_budget(budgets).axes[0]
    assert len(panel.containers[0]) == 2
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert labels == ["|C| = 49", "|C| ≈ 12"]


def test_the_same_table_gives_the_same_bytes(budgets: pd.DataFrame, tmp_path) -> None:
    paths = [tmp_path / "first.svg", tmp_path / "second.svg"]
    for path in paths:
        save_figure(bridge_budget(budgets), [path])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_an_empty_table_is_an_error(budgets: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="no rows"):
        bridge_budget(budgets.iloc[:0])
