"""What certificates of pairs amount to: a summary, and a figure of gaps against bounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from nddv.reporting.detection import PROBLEM
from nddv.reporting.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
SEMIVALUES = {
    "loo": "leave-one-out",
    "shapley": "Shapley",
    "banzhaf": "Banzhaf",
    "beta": "Beta Shapley",
}
BOUNDS = {"hoeffding": "Hoeffding", "bernstein": "empirical Bernstein"}
CONTROL = "samples-only"  # among the readouts: what the samples tell without a score
CONTROL_COLOUR = "#808080"
SMALL = 8  # points, for what stands inside a panel


def certificate_summary(
    rows: pd.DataFrame, by: Sequence[str] = ("readout", "semivalue")
) -> pd.DataFrame:
    """How many orders are certified, and whether they are right.

    Parameters
    ----------
    rows : as ``nddv.audit.certificates.certify`` gives them, perhaps with further columns.
    by : the columns that tell groups apart.

    Returns
    -------
    One row per group and bound, in the order of the rows:

    - the columns of ``by``, bound, and how many pairs there are;
    - certified: the share of pairs whose order is certified;
    - resolved: the share of pairs whose order the reference tells;
    - agreement: the share of these, certified or not, that the score orders as the reference does;
    - certified_resolved: how many of the certified pairs the reference tells the order of;
    - agreement_certified: the share of those that agree; missing if there are none.
    """
    rows = rows.reset_index(drop=True)
    agrees = rows["agrees"].astype("boolean")
    bounds = [c.removeprefix("certified_") for c in rows.columns if c.startswith("certified_")]
    found = []
    for key, group in rows.groupby(list(by), sort=False):
        agreement = agrees[group.index].dropna().astype(float)
        for bound in bounds:
            certified = group[f"certified_{bound}"].astype(bool)
            told = agreement[certified[agreement.index]]
            found.append(
                {
                    **dict(zip(by, key, strict=True)),
                    "bound": bound,
                    "pairs": len(group),
                    "certified": certified.mean(),
                    "resolved": len(agreement) / len(group),
                    "agreement": agreement.mean(),
                    "certified_resolved": len(told),
                    "agreement_certified": told.mean(),
                }
            )
    return pd.DataFrame(found)


def noisy_certificates(rows: pd.DataFrame) -> Figure:
    """The figure of problems with noise, by log-likelihood; the table has the others too."""
    shown = (rows["utility"] == "log_likelihood") & (rows["corruption"] != "clean")
    return certificate_figure(rows[shown])


def certificate_figure(rows: pd.DataFrame, bound: str = "bernstein") -> Figure:
    """Draw score gaps against the bounds of their errors, and the shares of certified pairs.

    Parameters
    ----------
    rows : as ``nddv.audit.certificates.certify`` gives them, with the columns of the problem
        (``dataset`` at least; ``n``, ``corruption``) and, for several seeds, ``seed``. A column of
        panels per problem, a row per semi-value, and below the shares for all of them.
    bound : "hoeffding" or "bernstein". The panels show it for one pair, the bars also for all pairs
        at once. Beside the bound stands the sampled error, which it comes down to with ever more
        samples. The smallest gaps are drawn at the left edge. What is known without error, as by
        the control for leave-one-out, has no place on a logarithmic axis: see the bars.
    """
    if rows.empty:
        raise ValueError("no certificates to draw: the table has no rows")
    if bound not in BOUNDS:
        raise ValueError(f"unknown bound {bound!r}; known: {', '.join(BOUNDS)}")
    by = [name for name in PROBLEM if name in rows]
    problems = list(rows.groupby(by, sort=False))
    semivalues = list(rows["semivalue"].unique())
    readouts = sorted(rows["readout"].unique(), key=lambda name: name == CONTROL)
    look = {
        name: (CONTROL_COLOUR if name == CONTROL else colour, marker)
        for name, colour, marker in zip(readouts, cycle(COLOURS), cycle(MARKERS), strict=False)
    }
    size = (4.2 * len(problems) + 0.3, 3.4 * len(semivalues) + 3.6)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(semivalues) + 1, len(problems), squeeze=False)
    for column, (key, part) in zip(axes.T, problems, strict=True):
        for panel, semivalue in zip(column, semivalues, strict=False):
            _draw_gaps(panel, part[part["semivalue"] == semivalue], bound, look)
        _draw_shares(column[-1], part, bound, semivalues, look)
        column[0].set_title(_problem_title(by, key) + "\n" + column[0].get_title(), fontsize=9)
    _add_legend(figure, axes[0, 0], look)
    figure.suptitle("Certified orders of two points", fontsize=11)
    return figure


def _problem_title(by: Sequence[str], key: tuple[object, ...]) -> str:
    named = dict(zip(by, key, strict=True))
    return ", ".join(f"n = {value}" if name == "n" else str(value) for name, value in named.items())


def _draw_gaps(
    panel: Axes, rows: pd.DataFrame, bound: str, look: dict[str, tuple[str, str]]
) -> None:
    """Draw one semi-value: a point for each pair and readout, certified below the diagonal."""
    if rows.empty:
        panel.set_axis_off()
        panel.text(0.5, 0.5, "not run", transform=panel.transAxes, ha="center", color="0.4")
        return
    exact = bool(rows["exact"].iloc[0])
    drawn = rows.assign(gap=rows["score_gap"].abs(), bound=rows[f"bound_{bound}"])
    drawn = drawn[(drawn["gap"] > 0) & (drawn["bound"] > 0)]
    low, high = _limits(drawn)
    panel.fill_between([low, high], [low, high], low, color="0.92", linewidth=0, zorder=0)
    panel.plot([low, high], [low, high], color="0.4", linewidth=0.8, zorder=1)
    for readout, part in drawn.groupby("readout", sort=False):
        colour, marker = look[str(readout)]
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5}
        gap = part["gap"].clip(lower=low)
        if not exact:
            open_style = {**style, "markerfacecolor": "none", "markeredgewidth": 0.5}
            panel.plot(gap, part["error"], " ", alpha=0.5, **open_style)
        panel.plot(gap, part["bound"], " ", alpha=0.6, markeredgewidth=0, **style)
    panel.text(0.97, 0.04, "order certified", transform=panel.transAxes, ha="right", fontsize=SMALL)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlim(low, high)
    panel.set_ylim(low, high)
    panel.set_xlabel("|score gap|", fontsize=9)
    semivalue = str(rows["semivalue"].iloc[0])
    panel.set_ylabel(
        "its error, exact" if exact else f"bound of its error ({BOUNDS[bound]})", fontsize=9
    )
    draws = "" if exact else f", {rows['coalitions'].iloc[0]} coalitions a pair"
    panel.set_title(f"{SEMIVALUES.get(semivalue, semivalue)}{draws}", fontsize=9)
    panel.tick_params(labelsize=SMALL)


def _limits(drawn: pd.DataFrame) -> tuple[float, float]:
    """One range for both axes, without the few smallest gaps."""
    numbers = np.concatenate([drawn["gap"], drawn["bound"], drawn.loc[drawn["error"] > 0, "error"]])
    if len(numbers) == 0:
        return 0.1, 1.0
    return float(np.quantile(numbers, 0.01)) / 1.2, 1.6 * float(numbers.max())


def _draw_shares(
    panel: Axes,
    rows: pd.DataFrame,
    bound: str,
    semivalues: Sequence[str],
    look: dict[str, tuple[str, str]],
) -> None:
    """Draw the share of certified pairs: light for one pair at a time, full for all at once."""
    shares = _shares(rows, bound)
    width = 0.84 / len(look)
    for k, (readout, (colour, _)) in enumerate(look.items()):
        places = np.arange(len(semivalues)) + (k - (len(look) - 1) / 2) * width
        own = shares.reindex([(semivalue, readout) for semivalue in semivalues])
        panel.bar(places, own["one"], width, color=colour, alpha=0.35, linewidth=0)
        panel.bar(places, own["all"], width, color=colour, linewidth=0)
        panel.errorbar(places, own["one"], own["one_sd"], fmt="none", ecolor="0.2", elinewidth=0.8)
        for place, share, spread in zip(places, own["one"], own["one_sd"], strict=True):
            text = "—" if np.isnan(share) else f"{share:.0f}"
            height = np.nan_to_num(share) + np.nan_to_num(spread) + 1.5
            panel.text(place, height, text, ha="center", fontsize=SMALL, color=colour)
    panel.set_xticks(range(len(semivalues)), [SEMIVALUES.get(s, s) for s in semivalues])
    panel.set_xlim(-0.5, len(semivalues) - 0.5)
    panel.set_ylim(0, 112)
    panel.set_yticks([0, 25, 50, 75, 100])
    spread_note = ", ± 1 sd over seeds" if shares["one_sd"].notna().any() else ""
    panel.set_ylabel(f"pairs certified (%){spread_note}", fontsize=9)
    panel.tick_params(labelsize=SMALL)


def _shares(rows: pd.DataFrame, bound: str) -> pd.DataFrame:
    """Certified pairs in per cent, by semi-value and readout: means and spread over seeds."""
    by = ["semivalue", "readout"]
    runs = [*by, "seed"] if "seed" in rows else by
    columns = {f"certified_{bound}": "one", f"certified_{bound}_union": "all"}
    per_run = 100 * rows.groupby(runs)[list(columns)].mean().rename(columns=columns)
    found = per_run.groupby(by).mean()
    return found.assign(one_sd=per_run["one"].groupby(by).std(ddof=1))


def _add_legend(figure: Figure, panel: Axes, look: dict[str, tuple[str, str]]) -> None:
    keys: list[Artist] = []
    for readout, (colour, marker) in look.items():
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5}
        label = "control: samples, no score" if readout == CONTROL else readout
        keys += panel.plot([], [], " ", label=label, **style)
    style = {"color": "0.4", "markersize": 5}
    keys += panel.plot([], [], "o", label="full: bound of the error", **style)
    style["markerfacecolor"] = "none"
    keys += panel.plot([], [], "o", label="open: sampled error", **style)
    keys += [
        Patch(color="0.4", alpha=0.35, linewidth=0, label="light bars: for one pair"),
        Patch(color="0.4", linewidth=0, label="full bars: for all pairs at once"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=2, fontsize=SMALL, frameon=False)
