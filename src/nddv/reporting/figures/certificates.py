"""What certificates of pairs amount to: gaps of scores against the bounds of their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

import nddv.reporting.figures.style as style
from nddv.reporting.frames import PROBLEM

SEMIVALUES = {"loo": "leave-one-out", "shapley": "Shapley", "banzhaf": "Banzhaf"}
SEMIVALUES["beta"] = "Beta Shapley"
BOUNDS = {"hoeffding": "Hoeffding", "bernstein": "empirical Bernstein"}
CONTROL = "samples-only"  # among the readouts: what the samples tell without a score
CONTROL_LOOK = style.Look("#808080", marker="D")


def noisy_certificates(rows: pd.DataFrame) -> Figure:
    """The figure of problems with noise, by log-likelihood; the table has the others too."""
    shown = (rows["utility"] == "log_likelihood") & (rows["corruption"] != "clean")
    return certificate_figure(rows[shown])


@style.styled
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
    readouts = [name for name in rows["readout"].unique() if name != CONTROL]
    known = style.looks_of(f"nddv-{readout}" for readout in readouts)
    looks = {readout: known[f"nddv-{readout}"] for readout in readouts}
    if CONTROL in set(rows["readout"]):
        looks[CONTROL] = CONTROL_LOOK
    figure = Figure(figsize=(3.6 * len(problems) + 0.3, 2.9 * len(semivalues) + 3.1))
    axes = figure.subplots(len(semivalues) + 1, len(problems), squeeze=False)
    for column, (problem, part) in zip(axes.T, problems, strict=True):
        for panel, semivalue in zip(column, semivalues, strict=False):
            _draw_gaps(panel, part[part["semivalue"] == semivalue], bound, looks)
        _draw_shares(column[-1], _shares(part, bound), semivalues, looks)
        named = zip(by, problem, strict=True)
        heading = ", ".join(f"n = {v}" if name == "n" else str(v) for name, v in named)
        column[0].set_title(f"{heading}\n{column[0].get_title()}")
    marks = [
        style.key("control: samples, no score" if name == CONTROL else name, **_points(look))
        for name, look in looks.items()
    ]
    plain = _points(style.Look("0.4"))
    marks.append(style.key("full: bound of the error", **plain))
    marks.append(style.key("open: sampled error", **plain | {"markerfacecolor": "none"}))
    bars = [
        Patch(color="0.4", alpha=0.35, linewidth=0, label="light bars: for one pair"),
        Patch(color="0.4", linewidth=0, label="full bars: for all pairs at once"),
    ]
    style.legend_below(figure, [*marks, *bars], 2)
    figure.suptitle("Certified orders of two points")
    return figure


def _points(look: style.Look, **more: Any) -> dict[str, Any]:
    return look.marked(linestyle="none") | more


def _draw_gaps(
    panel: Axes, rows: pd.DataFrame, bound: str, looks: Mapping[str, style.Look]
) -> None:
    """Draw one semi-value: a point for each pair and readout, certified below the diagonal."""
    if rows.empty:
        panel.set_axis_off()
        style.say(panel, 0.5, 0.5, "not run", color="0.4")
        return
    first = rows.iloc[0]
    drawn = rows.assign(gap=rows["score_gap"].abs(), bound=rows[f"bound_{bound}"])
    drawn = drawn[(drawn["gap"] > 0) & (drawn["bound"] > 0)]
    low, high = _limits(drawn)
    panel.fill_between([low, high], [low, high], low, color="0.92", linewidth=0, zorder=0)
    panel.plot([low, high], [low, high], color="0.4", linewidth=0.8, zorder=1)
    for readout, part in drawn.groupby("readout", sort=False):
        look, gap = looks[str(readout)], part["gap"].clip(lower=low)
        if not first["exact"]:
            hollow = _points(look, alpha=0.5, markerfacecolor="none", markeredgewidth=0.5)
            panel.plot(gap, part["error"], **hollow)
        panel.plot(gap, part["bound"], **_points(look, alpha=0.6, markeredgewidth=0))
    style.say(panel, 0.97, 0.05, "order certified", ha="right")
    panel.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    exact, draws = "its error, exact", f", {first['coalitions']} coalitions a pair"
    bounded = f"bound of its error ({BOUNDS[bound]})"
    panel.set(xlabel="|score gap|", ylabel=exact if first["exact"] else bounded)
    name = SEMIVALUES.get(first["semivalue"], first["semivalue"])
    panel.set_title(name + ("" if first["exact"] else draws))


def _limits(drawn: pd.DataFrame) -> tuple[float, float]:
    """One range for both axes, without the few smallest gaps."""
    numbers = np.concatenate([drawn["gap"], drawn["bound"], drawn.loc[drawn["error"] > 0, "error"]])
    if len(numbers) == 0:
        return 0.1, 1.0
    return float(np.quantile(numbers, 0.01)) / 1.2, 1.6 * float(numbers.max())


def _draw_shares(
    panel: Axes, shares: pd.DataFrame, semivalues: Sequence[str], looks: Mapping[str, style.Look]
) -> None:
    """Draw the share of certified pairs: light for one pair at a time, full for all at once."""
    width = 0.84 / len(looks)
    for k, (readout, look) in enumerate(looks.items()):
        places = np.arange(len(semivalues)) + (k - (len(looks) - 1) / 2) * width
        own = shares.reindex([(semivalue, readout) for semivalue in semivalues])
        panel.bar(places, own["one"], width, color=look.colour, alpha=0.35, linewidth=0)
        panel.bar(places, own["all"], width, color=look.colour, linewidth=0)
        panel.errorbar(places, own["one"], own["one_sd"], fmt="none", ecolor="0.2", elinewidth=0.8)
        for place, share, spread in zip(places, own["one"], own["one_sd"], strict=True):
            text = "—" if np.isnan(share) else f"{share:.0f}"
            height = np.nan_to_num(share) + np.nan_to_num(spread) + 1.5
            panel.text(place, height, text, ha="center", color=look.colour)
    panel.set_xticks(range(len(semivalues)), [SEMIVALUES.get(s, s) for s in semivalues])
    panel.set(xlim=(-0.5, len(semivalues) - 0.5), ylim=(0, 112), yticks=[0, 25, 50, 75, 100])
    panel.grid(visible=False, axis="x")
    spread_note = ", ± 1 sd over seeds" if shares["one_sd"].notna().any() else ""
    panel.set_ylabel(f"pairs certified (%){spread_note}")


def _shares(rows: pd.DataFrame, bound: str) -> pd.DataFrame:
    """Certified pairs in per cent, by semi-value and readout: means and spread over seeds."""
    by = ["semivalue", "readout"]
    runs = [*by, "seed"] if "seed" in rows else by
    columns = {f"certified_{bound}": "one", f"certified_{bound}_union": "all"}
    per_run = 100 * rows.groupby(runs)[list(columns)].mean().rename(columns=columns)
    shares = per_run.groupby(by).mean()
    return shares.assign(one_sd=per_run["one"].groupby(by).std(ddof=1))
