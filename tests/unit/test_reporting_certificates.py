"""The summary of certificates counts right, and the figure stands empty and partial tables."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from nddv.audit.certificates import BOUNDS, SAMPLES_ONLY, certify
from nddv.audit.laws import semivalue
from nddv.audit.pairs import choose_pairs, pair_utilities
from nddv.reporting.figures.certificates import CONTROL, CONTROL_LOOK, certificate_figure
from nddv.reporting.figures.style import LOOKS, save_figure
from nddv.reporting.tables.certificates import certificate_summary, context_certificates

SEED = 100


class NearlyAdditiveGame:
    """Utilities in [0, 1], mostly Σ a_i."""

    def __init__(self, a):
        self.a, self.n = a, len(a)

    def utilities(self, weights):
        return 0.9 * weights @ self.a + 0.1 * np.sin(weights @ np.arange(self.n)) ** 2


def certificates(dataset="2dplanes", seed=SEED, names=("loo", "shapley"), scale=1.0):
    rng = np.random.default_rng(seed)
    a = np.sort(rng.dirichlet(np.ones(12)))
    game = NearlyAdditiveGame(a)
    pairs, stratum = choose_pairs(a, 20, rng)
    readouts = {"participation": 0.9 * scale * a, "terminal": rng.permutation(a)}
    frames = []
    for name in names:
        law = semivalue(name, 12)
        few, many = (pair_utilities(game, law, pairs, count, rng) for count in (200, 2000))
        reference = many.mean_gaps()
        rows = certify(few, readouts, (0, 1), stratum=stratum, reference=reference)
        frames.append(rows.assign(dataset=dataset, n=12, corruption="clean", seed=seed))
    return pd.concat(frames)


@pytest.fixture(scope="module")
def rows():
    return certificates()


def test_shares_in_context_are_means_over_seeds():
    row = {"dataset": "a", "n": 10, "corruption": "clean", "utility": "accuracy"}
    row |= {"semivalue": "shapley", "pairs": 45, "reliability": 0.9, "coalitions": 50}
    rows = pd.DataFrame(
        {**row, "seed": seed, "certified_one": 0.2 * seed, "seconds": 1.0} for seed in (1, 2)
    )
    gap = {"dataset": "b", "n": 10, "corruption": "clean", "reason": "not to be had"}
    first, second = context_certificates(rows, [gap]).to_dict("records")
    assert first["certified_one"] == pytest.approx(0.3)
    assert first["certified_one_sd"] == pytest.approx(0.2 / np.sqrt(2))
    assert first["runs"] == 2
    assert second["note"] == "not to be had"


def small_table():
    """Four pairs: two certified, of which one is right and one the reference does not resolve."""
    return pd.DataFrame(
        {
            "readout": "path",
            "semivalue": "loo",
            "certified_hoeffding": [True, True, False, False],
            "certified_bernstein": False,
            "agrees": pd.array([True, pd.NA, False, False], dtype="boolean"),
        },
        index=[0, 0, 1, 1],  # as of tables put together
    )


def test_summary_by_hand():
    hoeffding, bernstein = certificate_summary(small_table()).to_dict("records")
    assert hoeffding == {
        "readout": "path",
        "semivalue": "loo",
        "bound": "hoeffding",
        "pairs": 4,
        "certified": 0.5,
        "resolved": 0.75,
        "agreement": pytest.approx(1 / 3),
        "certified_resolved": 1,
        "agreement_certified": 1.0,
    }
    assert bernstein["certified"] == 0
    assert bernstein["certified_resolved"] == 0
    assert np.isnan(bernstein["agreement_certified"])
    assert bernstein["agreement"] == pytest.approx(1 / 3)


def test_summary_of_a_file_is_that_of_the_table(rows):
    text = rows.to_csv(index=False)
    read = certificate_summary(pd.read_csv(StringIO(text)))
    summary = certificate_summary(rows)
    pd.testing.assert_frame_equal(read, summary)
    assert len(summary) == 2 * 3 * len(BOUNDS)
    assert summary["certified"].between(0, 1).all()


def test_certified_orders_are_right(rows):
    summary = certificate_summary(rows).set_index(["readout", "semivalue", "bound"])
    loo = summary.loc[("participation", "loo", "hoeffding")]
    assert 0 < loo["certified"] < 1
    assert loo["agreement_certified"] == 1
    assert summary.loc[(SAMPLES_ONLY, "loo", "hoeffding"), "certified"] == 1


def test_summary_by_further_columns(rows):
    both = pd.concat([rows, rows.assign(dataset="digits")])
    summary = certificate_summary(both, by=("dataset", "readout", "semivalue"))
    halves = [
        part.drop(columns="dataset").reset_index(drop=True)
        for _, part in summary.groupby("dataset")
    ]
    pd.testing.assert_frame_equal(*halves)


def bars(panel):
    """Heights of the bars by colour and opacity."""
    found = {}
    for bar in panel.patches:
        found.setdefault((to_hex(bar.get_facecolor()).upper(), bar.get_alpha()), []).append(
            bar.get_height()
        )
    return found


def test_bars_are_shares_in_per_cent(rows):
    figure = certificate_figure(rows, bound="bernstein")
    panel = figure.axes[-1]
    summary = certificate_summary(rows).set_index(["bound", "readout", "semivalue"])["certified"]
    found = bars(panel)
    colours = {name: LOOKS[f"nddv-{name}"].colour for name in ("participation", "terminal")}
    colours[SAMPLES_ONLY] = CONTROL_LOOK.colour
    assert CONTROL == SAMPLES_ONLY
    for readout, colour in colours.items():
        for alpha, bound in [(0.35, "bernstein"), (None, "bernstein_union")]:
            expected = 100 * summary[bound][readout].reindex(["loo", "shapley"])
            np.testing.assert_allclose(found[colour, alpha], expected)


def test_points_lie_in_the_certified_region_as_often_as_pairs_are_certified(rows):
    figure = certificate_figure(rows, bound="hoeffding")
    panel = figure.axes[0]
    loo = rows[(rows["semivalue"] == "loo") & (rows["readout"] != SAMPLES_ONLY)]
    lines = [
        line for line in panel.lines if line.get_linestyle() == "None" and len(line.get_xdata())
    ]
    below = sum((np.asarray(line.get_ydata()) < line.get_xdata()).sum() for line in lines)
    assert below == loo["certified_hoeffding"].sum() > 0


@pytest.mark.parametrize("bound", ["hoeffding", "bernstein"])
def test_figure_of_several_problems_and_seeds(tmp_path, bound):
    parts = [certificates(name, seed) for name in ("2dplanes", "digits") for seed in (100, 101)]
    # a semi-value that was not run for one of the problems
    parts.append(certificates("digits", 100, names=("banzhaf",)))
    figure = certificate_figure(pd.concat(parts), bound)
    texts = [t.get_text() for panel in figure.axes for t in panel.texts]
    assert "not run" in texts
    paths = [tmp_path / "certificates.png", tmp_path / "certificates.svg"]
    save_figure(figure, paths)
    assert all(path.stat().st_size > 10_000 for path in paths)
    svg = paths[1].read_text()
    for text in ("2dplanes, n = 12, clean", "participation", "leave-one-out", "order certified"):
        assert text in svg


def test_figure_with_nothing_certified(tmp_path, rows):
    nothing = rows[(rows["readout"] == "terminal") & (rows["semivalue"] == "shapley")]
    assert not nothing["certified_bernstein"].any()
    figure = certificate_figure(nothing)
    assert [t.get_text() for t in figure.axes[-1].texts] == ["0"]
    save_figure(figure, [tmp_path / "nothing.png"])


def test_figure_without_a_single_gap(tmp_path, rows):
    flat = rows.assign(score_gap=0.0, certified_bernstein=False, certified_bernstein_union=False)
    save_figure(certificate_figure(flat), [tmp_path / "flat.png"])


def test_bad_input_is_refused(rows):
    with pytest.raises(ValueError, match="no rows"):
        certificate_figure(rows[:0])
    with pytest.raises(ValueError, match="unknown bound"):
        certificate_figure(rows, "chernoff")
