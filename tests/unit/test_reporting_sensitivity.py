"""The sensitivity table has every setting beside its default, and claims can read it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from nddv.reporting.catalogue.tables import TABLES
from nddv.reporting.claims import PAPER, SCORES, read_claims
from nddv.reporting.figures.sensitivity import PANELS, sensitivity
from nddv.reporting.figures.style import LOOKS, save_figure
from nddv.reporting.frames import NOT_RUN
from nddv.reporting.tables.sensitivity import sensitivity_table, setting_text
from nddv.reporting.verdicts import judge as judge_claim

ENTRY = TABLES["sensitivity"]
ROOT = Path(__file__).parents[2]


def judge(claims, tables, score=PAPER):
    """The verdict on each claim, by its id."""
    return {claim.id: judge_claim(claim, tables, score).verdict for claim in claims}


REASON = "NoValues: diverged"
# The weights of the path readout are not learned: settings of their learning do nothing to it.
SHARED = {"interaction": 1.0, "diffusion": 0.01}
DEFAULTS = {
    "nddv-terminal": {
        **{"reweighting": "lookahead", **SHARED},
        **{"meta_size": 100, "meta_hidden": 16},
    },
    "nddv-path": {"reweighting": "self", **SHARED},
}
# What each change does to F1; a variant that is set to the default must change nothing.
CHANGES = {
    "": 0.0,
    ":reweighting=none": -0.2,
    ":reweighting=self": -0.02,
    ":reweighting=lookahead": -0.03,
    ":interaction=10": -0.3,
    ":interaction=0.1": -0.01,
    ":interaction=1": 9.0,
    ":diffusion=1": -0.4,
    ":meta_size=30": -0.01,
    ":meta_hidden=1": -0.1,
    ":control=mlp": -0.05,
}


@pytest.fixture
def scores():
    """Two readouts, two seeds; another method and a problem without variants."""
    rows = [
        {
            "dataset": "2dplanes",
            "n": 1000,
            "corruption": "label10",
            "method": readout + change,
            "seed": seed,
            "f1_budget": level + effect + 0.02 * (seed - 100),
            "area": 0.8 + effect / 10,
            "gap": None,
        }
        for readout, level in (("nddv-terminal", 0.6), ("nddv-path", 0.7))
        for change, effect in CHANGES.items()
        for seed in (100, 101)
    ]
    more = [{**rows[0], "method": name} for name in ("loo", "odv:KNNShapley")]
    return pd.DataFrame([*rows, *more, {**rows[0], "dataset": "digits"}])


@pytest.fixture
def table(scores):
    return sensitivity_table(scores, DEFAULTS)


def row(table, method, parameter, setting):
    of = {"method": method, "parameter": parameter, "setting": setting}
    (found,) = table[(table[list(of)] == list(of.values())).all(axis=1)].to_dict("records")
    return found


def test_columns_are_those_that_claims_name(table):
    assert set(table.columns) <= {*ENTRY.columns, "f1_sd", "area_sd"}
    assert set(ENTRY.columns) <= {*table.columns, "title"}
    assert set(table["parameter"]) == set(PANELS) == set(DEFAULTS["nddv-terminal"])
    of_path = table.loc[table["method"] == "nddv-path", "parameter"]
    assert set(of_path) == set(DEFAULTS["nddv-path"])
    assert set(table["dataset"]) == {"2dplanes"}


def test_every_parameter_has_its_default(table):
    defaults = table[table["is_default"]]
    found = {
        method: dict(zip(part["parameter"], part["setting"], strict=True))
        for method, part in defaults.groupby("method")
    }
    numbers = {"interaction": "1", "diffusion": "0.01"}
    assert found == {
        "nddv-terminal": {
            **{"reweighting": "lookahead", **numbers},
            **{"meta_size": "100", "meta_hidden": "16"},
        },
        "nddv-path": {"reweighting": "self", **numbers},
    }
    by_method = defaults.groupby("method")["f1"].agg(list)
    assert by_method["nddv-terminal"] == pytest.approx([0.61] * 5)
    assert by_method["nddv-path"] == pytest.approx([0.71] * 3)


def test_means_and_spreads_of_a_setting(table):
    found = row(table, "nddv-path", "interaction", "10")
    assert found["f1"] == pytest.approx(0.41)
    assert found["f1_sd"] == pytest.approx(np.std([0, 0.02], ddof=1))
    assert found["area"] == pytest.approx(0.77)
    assert (found["runs"], found["is_default"], found["note"]) == (2, False, "")


def test_settings_are_in_order(table):
    by_parameter = table.groupby(["method", "parameter"])["setting"].agg(list)
    assert by_parameter["nddv-path", "interaction"] == ["0.1", "1", "10"]
    assert by_parameter["nddv-path", "reweighting"] == ["none", "self", "lookahead"]
    assert by_parameter["nddv-terminal", "reweighting"] == ["none", "lookahead", "self"]
    assert row(table, "nddv-path", "reweighting", "lookahead")["f1"] == pytest.approx(0.68)


def test_failed_runs_are_kept_with_the_reason(scores):
    lost = scores["method"] == "nddv-terminal:diffusion=1"
    some = (scores["method"] == "nddv-path:diffusion=1") & (scores["seed"] == 100)
    scores.loc[lost | some, ["f1_budget", "area"]] = np.nan
    scores.loc[lost | some, "gap"] = REASON
    table = sensitivity_table(scores, DEFAULTS)
    none, half = (row(table, name, "diffusion", "1") for name in ("nddv-terminal", "nddv-path"))
    assert np.isnan(none["f1"])
    assert none["note"] == f"f1, area: in 0 of 2 seeds: {REASON}"
    assert half["f1"] == pytest.approx(0.32)
    assert half["note"] == f"f1, area: in 1 of 2 seeds: {REASON}"
    figure = sensitivity(table)
    said = [text.get_text() for panel in figure.subfigs[0].axes for text in panel.texts]
    assert said == [" no values"]


def test_claims_can_read_what_is_written(table, written):
    again, text, _ = written(ENTRY, table)
    assert again["setting"].tolist() == table["setting"].tolist()
    claims = read_claims(ROOT / "config" / "claims.yaml")
    own = [claim for claim in claims if claim.needs == ("sensitivity",)]
    assert len(own) >= 4
    # Every effect that the paper reports is in these numbers.
    assert set(judge(own, {"sensitivity": again}).values()) == {"reproduced"}
    _, released, ours = (judge(own, {"sensitivity": again}, score) for score in SCORES)
    assert set(released.values()) == {"not applicable"}
    about_weights = {"meta-set-size", "small-meta-width-underfits"}
    assert {name for name, found in ours.items() if found == "not applicable"} == about_weights
    assert "not run" not in ours.values()
    flat = again.assign(f1=0.6, f1_sd=0.0)
    verdicts = judge(own, {"sensitivity": flat})
    assert verdicts.pop("meta-set-size") == "reproduced"
    assert set(verdicts.values()) == {"not reproduced"}
    terminal = "| NDDV, terminal (the paper's score) | interaction | 1 | yes | 2 | 0.610 ± 0.014 |"
    assert terminal in text
    assert "| NDDV, path-integrated | reweighting | none |  | 2 | 0.510 ± 0.014 |" in text


def test_numbers_alone_are_read_as_well(scores, written):
    table = sensitivity_table(scores, {method: {"interaction": 1.0} for method in DEFAULTS})
    again, *_ = written(ENTRY, table)
    assert again["setting"].dtype.kind == "f"
    first, second = sensitivity(table), sensitivity(again)
    ticks = [
        [label.get_text() for label in figure.subfigs[0].axes[1].get_xticklabels()]
        for figure in (first, second)
    ]
    assert ticks[0] == ticks[1] == ["0.1", "1", "10"]


def test_figure_has_five_panels_with_default_and_chance(table, tmp_path):
    figure = sensitivity(table)
    panels = figure.subfigs[0].axes
    assert [panel.get_title() for panel in panels[:5]] == [title for title, _ in PANELS.values()]
    for panel, parameter in zip(panels, PANELS, strict=False):
        chance = panel.lines[0]
        assert chance.get_ydata() == pytest.approx([0.1, 0.1])
        ticks = [label.get_text().replace("\n", "") for label in panel.get_xticklabels()]
        marked = {
            ticks[round(band.get_x() + band.get_width() / 2)]: to_hex(band.get_facecolor())
            for band in panel.patches
        }
        usual = {m: setting_text(own[parameter]) for m, own in DEFAULTS.items() if parameter in own}
        assert set(marked) == set(usual.values())
        if parameter == "reweighting":  # usual for one readout each
            assert marked == {usual[m]: LOOKS[m].colour.lower() for m in usual}
        else:
            assert len(set(marked.values())) == 1
        for method in DEFAULTS:
            look = LOOKS[method]
            own = table[(table["method"] == method) & (table["parameter"] == parameter)]
            drawn = [line for line in panel.lines if line.get_color() == look.colour]
            assert len(drawn) == (parameter in DEFAULTS[method])
            for line in drawn:
                by_place = own.assign(at=[ticks.index(s) for s in own["setting"]]).sort_values("at")
                np.testing.assert_allclose(line.get_ydata().astype(float), by_place["f1"])
                assert (line.get_linestyle() == "None") == (parameter == "reweighting")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that does not fit
        save_figure(figure, [tmp_path / "figure.png", tmp_path / "figure.pdf"])


def test_a_parameter_that_was_not_varied_says_so(scores):
    kept = scores[~scores["method"].str.contains("meta_size")]
    figure = sensitivity(sensitivity_table(kept, DEFAULTS))
    said = [[text.get_text() for text in panel.texts] for panel in figure.subfigs[0].axes[:5]]
    assert said == [[], [], [], ["only the default was run"], []]


def test_nothing_run_is_an_empty_table_and_a_page(scores):
    for nothing in (pd.DataFrame(), scores[scores["method"] == "loo"]):
        table = sensitivity_table(nothing, DEFAULTS)
        assert table.empty
        assert set(ENTRY.columns) <= {*table.columns, "title"}
        assert NOT_RUN in " ".join(text.get_text() for text in sensitivity(table).texts)
