"""Figures over noise rates draw the means, and say what was not run."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.reporting.figures.noise import (
    LOOKS_IMAGENET100,
    MLP,
    PRINTED,
    SIDEWAYS,
    imagenet100_curves,
    noise_levels,
    noise_levels_structured,
)
from nddv.reporting.figures.style import LOOKS, save_figure
from nddv.reporting.frames import NOT_RUN
from nddv.reporting.inputs import read_inputs
from nddv.reporting.titles import title_of

PAPER = Path(__file__).parents[2] / "config" / "paper"
RATES = [5, 10, 45]


def scores(dataset="2dplanes", methods=("nddv-terminal", "loo"), rates=RATES, kinds=None, n=1000):
    """Two seeds of a few methods, better at lower rates."""
    rows = [
        {
            "dataset": dataset,
            "n": n,
            "corruption": f"{kind}{rate}",
            "method": method,
            "seed": seed,
            "f1_budget": 0.9 - 0.1 * i - rate / 100 + 0.04 * (seed - 100),
            "area": 0.8 - 0.1 * i + 0.02 * (seed - 100),
            "gap": None,
        }
        for kind in kinds or ("label", "feature")
        for rate in rates
        for i, method in enumerate(methods)
        for seed in (100, 101)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def published():
    names = ("label_noise_rates", "feature_noise_rates")
    return read_inputs({"published": [str(PAPER / f"{name}.csv") for name in names]})["published"]


def gap(dataset, corruption, reason="no source", n=1000):
    return {"dataset": dataset, "n": n, "corruption": corruption, "reason": reason}


def panels(figure):
    """Panels of the two blocks, or of the figure with one."""
    return [panel for part in figure.subfigs for panel in part.axes if panel.get_visible()]


def drawn(panel, look):
    """The lines of a method, without the hollow marks of printed numbers."""
    return [
        line
        for line in panel.lines
        if (line.get_color(), line.get_marker()) == (look.colour, look.marker)
        and line.get_markerfacecolor() != "none"
        and len(line.get_xdata())
    ]


def words(figure):
    """All texts of a figure, without line breaks."""
    texts = figure.findobj(lambda part: hasattr(part, "get_text"))
    return " ".join(" ".join(text.get_text().split()) for text in texts)


def test_means_spreads_and_chance_are_drawn(published):
    table = scores()
    figure = noise_levels(table, published)
    label, feature = panels(figure)
    for panel, kind in ((label, "label"), (feature, "feature")):
        own = table[(table["method"] == "nddv-terminal") & table["corruption"].str.startswith(kind)]
        (line,) = drawn(panel, LOOKS["nddv-terminal"])
        mean = own.groupby("corruption", sort=False)["f1_budget"].mean()
        np.testing.assert_allclose(line.get_ydata().astype(float), mean)
        np.testing.assert_allclose(line.get_xdata().astype(float), RATES, atol=SIDEWAYS)
        (bars,) = panel.collections
        heights = [np.ptp(segment[:, 1]) for segment in bars.get_segments()]
        np.testing.assert_allclose(heights, 2 * own["f1_budget"].iloc[:2].std(ddof=1))
        (chance,) = [line for line in panel.lines if line.get_linestyle() == ":"]
        np.testing.assert_allclose(chance.get_ydata(), chance.get_xdata() / 100)
    said = words(figure)
    assert "2dplanes, n = 1000" in said
    assert "other methods: LOO" in said
    assert "over 2 seeds" in said


def test_printed_numbers_are_drawn_on_the_data_set_they_are_read_as(published):
    tables = [scores("2dplanes"), scores("digits"), scores("2dplanes", n=100)]
    figure = noise_levels(pd.concat(tables), published)
    for i, panel in enumerate(panels(figure)):
        hollow = [line for line in panel.lines if line.get_markerfacecolor() == "none"]
        assert len(hollow) == (2 if i in (0, 3) else 0)
        for line in hollow:
            (method,) = [m for m in PRINTED if LOOKS[m].marker == line.get_marker()]
            kind = "label" if i == 0 else "feature"
            of = published["corruption"].str.startswith(kind) & (published["method"] == method)
            assert line.get_ydata().tolist() == published.loc[of, "f1"].tolist()
            assert line.get_xdata().tolist() == [5, 10, 20, 30, 40, 45]


def test_variants_and_mixed_noise_are_left_out(published):
    mixed = scores(rates=[10]).replace({"corruption": {"label10": "label10+feature5"}})
    variant = scores(methods=("nddv-terminal:interaction=10", "odv:KNNShapley"))
    regime = scores(rates=[10]).replace({"corruption": {"label10": "label10@released"}})
    regime = regime[regime["corruption"] == "label10@released"].assign(f1_budget=0.0)
    figure = noise_levels(pd.concat([scores(), mixed[:4], regime, variant]), published)
    said = words(figure)
    assert "other methods: LOO, OpenDataVal's KNNShapley" in said
    assert "interaction" not in said
    (line,) = drawn(panels(figure)[0], LOOKS["nddv-terminal"])
    assert len(line.get_xdata()) == len(RATES)


def test_panels_that_share_a_scale_show_all_of_it(published):
    high = scores("digits")
    high["f1_budget"] += 0.3
    for panel in panels(noise_levels(pd.concat([scores(), high]), published)):
        assert panel.get_ylim()[1] > high["f1_budget"].max()


def test_one_rate_is_a_point(published):
    figure = noise_levels(scores(rates=[10], kinds=["label"]), published)
    label, feature = panels(figure)
    (line,) = drawn(label, LOOKS["nddv-terminal"])
    assert line.get_ydata() == pytest.approx([0.82])
    assert [text.get_text() for text in feature.texts] == [NOT_RUN]


def test_what_was_not_run_is_said(published, tmp_path):
    table = pd.concat([scores(), scores("digits", methods=("loo", "data-oob"))])
    lost = (table["method"] == "data-oob") & (table["corruption"] == "label45")
    table.loc[lost, ["f1_budget", "area"]] = np.nan
    gaps = [gap("stl10", f"label{rate}") for rate in RATES]
    gaps += [gap("stl10", "feature10", "too slow"), gap("2dplanes", "label20", "too slow")]
    figure = noise_levels(table, published, gaps)
    planes, digits, stl10, *_, other = panels(figure)
    assert (
        planes.get_title().splitlines()[1].startswith("not run at 20\N{NO-BREAK SPACE}%: too slow")
    )
    said = " ".join(digits.get_title().split())
    assert f"{title_of('data-oob')}: no values at 45 %" in said
    assert f"not run: {title_of('nddv-terminal')}" in said
    assert [text.get_text() for text in stl10.texts] == ["not run: no source"]
    assert [text.get_text() for text in other.texts] == ["not run: too slow"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        save_figure(figure, [tmp_path / "figure.png", tmp_path / "figure.pdf"])


def test_methods_that_stand_out_are_told_apart():
    for looks in (LOOKS, LOOKS_IMAGENET100):
        assert len(looks) <= 8
        assert len({look.colour for look in looks.values()}) == len(looks)
        assert len({look.marker for look in looks.values()}) == len(looks)


def test_structured_control_is_beside_the_other():
    methods = ("nddv-path", "nddv-path" + MLP, "small-loss", "loo", "nddv-path:interaction=10")
    table = pd.concat([scores(methods=methods), scores("digits", methods=methods[:1])])
    figure = noise_levels_structured(table)
    said = words(figure)
    assert "NDDV, path-integrated: KAN" in said
    assert "NDDV, path-integrated: MLP" in said
    assert "interaction" not in said
    assert "LOO" not in said
    planes, digits, *_ = panels(figure)
    kan, mlp = drawn(planes, LOOKS["nddv-path"])
    assert kan.get_ydata()[0] == pytest.approx(mlp.get_ydata()[0] + 0.1)
    assert (kan.get_linestyle(), mlp.get_linestyle()) == ("-", "--")
    absent = " ".join(digits.get_title().split())
    assert "not run: NDDV, path-integrated: MLP; Small loss" in absent


def test_imagenet100_has_f1_and_recall_auc_with_their_bounds():
    methods = ("nddv-terminal", "ghostsuite", "loo")
    own = scores("imagenet100@vit", methods)
    figure = imagenet100_curves(pd.concat([own, scores("2dplanes"), own.assign(n=100, area=0.0)]))
    f1, area, _, _ = panels(figure)
    for panel, column in ((f1, "f1_budget"), (area, "area")):
        of = (own["method"] == "ghostsuite") & own["corruption"].str.startswith("label")
        expected = own[of].groupby("corruption", sort=False)[column].mean()
        (line,) = drawn(panel, LOOKS_IMAGENET100["ghostsuite"])
        np.testing.assert_allclose(line.get_ydata().astype(float), expected)
    lines = {line.get_color(): line for line in area.lines}
    assert lines["0.2"].get_ydata() == pytest.approx([0.5, 0.5])
    assert lines["0.55"].get_ydata() == pytest.approx([1.0, 0.75])
    with pytest.raises(ValueError, match="one encoder"):
        imagenet100_curves(pd.concat([own, own.assign(dataset="imagenet100@resnet50")]))


@pytest.mark.parametrize("figure", ["levels", "structured", "imagenet100"])
def test_nothing_run_is_a_page_that_says_why(figure, published, tmp_path):
    gaps = [gap("imagenet100", f"{kind}10", "its licence") for kind in ("label", "feature")]
    nothing = pd.DataFrame()
    page = {
        "levels": lambda: noise_levels(nothing, published, gaps),
        "structured": lambda: noise_levels_structured(nothing, gaps),
        "imagenet100": lambda: imagenet100_curves(nothing, gaps),
    }[figure]()
    assert not page.axes
    assert "imagenet100, n = 1000 (label10, feature10): its licence" in words(page)
    save_figure(page, [tmp_path / "page.png"])
    assert NOT_RUN in words(noise_levels(nothing, published))


def test_scores_without_a_column_are_refused(published):
    with pytest.raises(ValueError, match="without the column f1_budget"):
        noise_levels(scores().drop(columns="f1_budget"), published)
