"""The bridge budget: which term keeps the score from the finite marginal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import nddv.reporting.figures.style as style

# In the order of Eq. coalition_bridge_budget. Hatches help in print.
TERMS = {
    "curvature": "curvature along the weight, ½ L (λ₀² + (1−λ₀)²)",
    "calibration": "calibration, |Γ′|",
    "residual": "residual direction, ‖∇g‖ ‖r‖",
    "scale": "radial scale, |ρ − 1| |u|",
    "context": "context, |s − u|",
}
HATCHES = ["", "//", "..", "\\\\", "xx"]
LABELLED = 0.09  # shares of the longest bar that are wide enough for a number


@style.styled
def bridge_budget(budgets: pd.DataFrame) -> Figure:
    """Draw the mean terms of the budget as stacked bars, with the gap that they bound.

    Parameters
    ----------
    budgets : rows of `nddv.audit.bridge.bridge_budget`, with a column `dataset`. A panel per data
        set and readout, a bar per coalition (or, with a column `group`, per group of coalitions),
        under it the gap, beside it the budget, the gap and the mean |Δ| of the finite marginals.
    """
    if budgets.empty:
        raise ValueError("no budgets to draw: the table has no rows")
    panels = list(budgets.groupby(["dataset", "readout"], sort=False))
    rows, columns = -(-len(panels) // 2), min(len(panels), 2)
    bars = max(len(_means(budget)) for _, budget in panels)
    figure = Figure(figsize=(5.6 * columns, (0.45 * bars + 1.0) * rows + 0.8))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, ((dataset, readout), budget) in zip(axes, panels, strict=False):
        _draw(panel, budget)
        held = f"holds in {budget['holds'].sum()} of {len(budget)} cases"
        panel.set_title(f"{dataset}, readout {readout}: the bound {held}")
    style.hide(axes[len(panels) :])
    style.legend_below(figure, axes[0].containers, 3)
    figure.suptitle("What bounds the gap between the score and the finite marginal of a point")
    return figure


def _means(budget: pd.DataFrame) -> pd.DataFrame:
    """Mean terms, gap, |marginal| and size per bar, the largest coalitions first."""
    by = "group" if "group" in budget else "coalition"
    sizes = budget.assign(marginal=budget["marginal"].abs())
    means = sizes.groupby(by)[[*TERMS, "gap", "marginal", "size"]].mean()
    return means.sort_values("size", ascending=False, kind="stable")


def _draw(panel: Axes, budget: pd.DataFrame) -> None:
    means = _means(budget)
    totals = means[list(TERMS)].sum(axis=1).to_numpy()
    places, start = np.arange(len(means)), np.zeros(len(means))
    for (term, label), colour, hatch in zip(TERMS.items(), style.COLOURS, HATCHES, strict=False):
        width = means[term].to_numpy()
        look: Any = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0.5}
        bars = panel.barh(places, width, left=start, height=0.6, label=label, **look)
        shares = 100 * width / totals
        wide = width > LABELLED * totals.max()
        said = [f"{share:.0f} %" if w else "" for share, w in zip(shares, wide, strict=True)]
        for text in panel.bar_label(bars, said, label_type="center"):
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85})
            text.set_visible(bool(text.get_text()))
        start += width
    label = "actual gap, |s − [U(C ∪ i) − U(C)]|"
    panel.barh(places + 0.38, means["gap"], height=0.1, color="black", label=label)
    numbers = zip(places.tolist(), totals, means["gap"], means["marginal"], strict=True)
    for place, total, gap, marginal in numbers:
        note = f" budget {total:.2g}\n gap {gap:.2g}, |Δ| {marginal:.1g}"
        panel.text(total, place, note, va="center")
    panel.set_xlim(0, 1.3 * totals.max())
    panel.set_yticks(places, [_size(size) for size in means["size"]])
    panel.invert_yaxis()
    panel.grid(visible=False, axis="y")
    panel.spines[["top", "right"]].set_visible(False)
    cases, lambda0 = len(budget) // len(means), budget["lambda0"].iloc[0]
    of_seeds = f" of {budget['seed'].nunique()} seeds" if "seed" in budget else ""
    unit = f"in units of the utility (λ₀ = {lambda0:g})"
    panel.set_xlabel(f"mean over {cases} points{of_seeds}, {unit}")


def _size(size: float) -> str:
    """The size of a coalition, which is one less where the point itself was among its members."""
    return f"|C| = {size:.0f}" if size == round(size) else f"|C| ≈ {size:.0f}"
