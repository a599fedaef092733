"""The figure of the bridge budget: which term keeps the score from the finite marginal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from nddv.reporting.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def bridge_figure(budgets: pd.DataFrame) -> Figure:
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
    rows = -(-len(panels) // 2)
    columns = min(len(panels), 2)
    bars = max(len(_means(budget)) for _, budget in panels)
    height = (0.55 * bars + 1.2) * rows + 1.0
    figure = Figure(figsize=(7.0 * columns, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, ((dataset, readout), budget) in zip(axes, panels, strict=False):
        _draw(panel, budget)
        held = f"holds in {budget['holds'].sum()} of {len(budget)} cases"
        panel.set_title(f"{dataset}, readout {readout}: the bound {held}", fontsize=10)
    for panel in axes[len(panels) :]:
        panel.set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.suptitle("What bounds the gap between the score and the finite marginal of a point")
    return figure


def _means(budget: pd.DataFrame) -> pd.DataFrame:
    """Mean terms, gap, |marginal| and size per bar, the largest coalitions first."""
    by = "group" if "group" in budget else "coalition"
    sizes = budget.assign(marginal=budget["marginal"].abs())
    means = sizes.groupby(by)[[*TERMS, "gap", "marginal", "size"]].mean()
    return means.sort_values("size", ascending=False, kind="stable")


def _size(size: float) -> str:
    """The size of a coalition, which is one less where the point itself was among its members."""
    return f"|C| = {size:.0f}" if size == round(size) else f"|C| ≈ {size:.0f}"


def _draw(panel: Axes, budget: pd.DataFrame) -> None:
    means = _means(budget)
    places, start = np.arange(len(means)), np.zeros(len(means))
    longest = float(means[list(TERMS)].sum(axis=1).max())
    for (term, label), colour, hatch in zip(TERMS.items(), COLOURS, HATCHES, strict=False):
        width = means[term].to_numpy()
        panel.barh(
            places,
            width,
            left=start,
            height=0.6,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.5,
            label=label,
        )
        for place in places[width > LABELLED * longest]:
            share = 100 * width[place] / means[list(TERMS)].to_numpy()[place].sum()
            panel.text(
                start[place] + width[place] / 2,
                place,
                f"{share:.0f} %",
                ha="center",
                va="center",
                fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85},
            )
        start += width
    label = "actual gap, |s − [U(C ∪ i) − U(C)]|"
    panel.barh(places + 0.38, means["gap"], height=0.1, color="black", label=label)
    for row, (place, total) in enumerate(zip(places.tolist(), start.tolist(), strict=True)):
        gap, marginal = means["gap"].iloc[row], means["marginal"].iloc[row]
        note = f" budget {total:.2g}\n gap {gap:.2g}, |Δ| {marginal:.1g}"
        panel.text(total, place, note, va="center", fontsize=8)
    panel.set_xlim(0, 1.3 * longest)
    panel.set_yticks(places, [_size(size) for size in means["size"]])
    panel.invert_yaxis()
    panel.spines[["top", "right"]].set_visible(False)
    cases, lambda0 = len(budget) // len(means), budget["lambda0"].iloc[0]
    of_seeds = f" of {budget['seed'].nunique()} seeds" if "seed" in budget else ""
    panel.set_xlabel(
        f"mean over {cases} points{of_seeds}, in units of the utility (λ₀ = {lambda0:g})"
    )
