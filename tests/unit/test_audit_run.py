"""The audits of one problem: what they are made of, on small problems and development seeds."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.audit.run import (
    IN_UNITS,
    audit_bridge,
    audit_certificates,
    audit_marginals,
    audit_retraining,
    audit_scores,
    fit_nddv,
    nddv_scores,
    scaled,
)
from nddv.problems import make_problem
from nddv.valuation import nddv_values, value

SEED = 100
SIDE = {"valid": 40, "test": 10, "meta": 40}
SETTINGS = {"epochs": 4}


@pytest.fixture(scope="module")
def audited():
    """A problem, values of the readouts and of a control, and reference marginals."""
    problem, _ = make_problem("2dplanes", 60, "label10", SEED, SIDE)
    values = nddv_values(problem, SEED, ["terminal", "path", "participation"], **SETTINGS)
    values["small-loss"] = value("small-loss", problem, SEED)
    marginals, record = audit_marginals(problem, SEED, 6, 100)
    return problem, values, marginals, record


def test_scores_have_the_differences_of_the_values_and_participation_its_own_zero(audited):
    problem, values, _, _ = audited
    scores = nddv_scores(values)
    assert set(scores) == {"nddv-terminal", "nddv-path", "nddv-participation"}
    for method, s in scores.items():
        np.testing.assert_allclose(60 / 59 * (s - s.mean()), values[method].values, atol=1e-12)
    assert scores["nddv-path"].mean() == pytest.approx(0, abs=1e-12)
    model = fit_nddv(problem, SEED, SETTINGS)
    np.testing.assert_allclose(scores[IN_UNITS], model.sensitivities_, rtol=1e-10)


def test_both_utilities_are_audited_and_their_cost_is_told(audited, tmp_path, monkeypatch):
    problem, values, marginals, record = audited
    assert list(marginals) == ["accuracy", "log_likelihood"]
    assert record["fits"] > 2 * (6 * 58 + 100 + 60)
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path))
    again, shared = audit_marginals(problem, SEED, 6, 100, cache=True)
    assert shared["fits"] < 0.6 * record["fits"]  # each coalition once
    np.testing.assert_allclose(
        again["log_likelihood"].walks, marginals["log_likelihood"].walks, atol=1e-5
    )
    frames = audit_scores(marginals, values, calibration=2)
    assert len(frames["errors"]) == 2 * 4  # three calibrated, participation also raw
    assert len(frames["gaps"]) == 2
    assert len(frames["ranks"]) == 2 * 4 * 3


def test_certificates_of_every_semivalue(audited):
    problem, values, marginals, _ = audited
    semivalues = ["loo", "shapley", "banzhaf", "beta"]
    rows = audit_certificates(problem, SEED, values, marginals, semivalues, 8, 4, 0.05, 2)
    assert len(rows) == 2 * 4 * 8 * 5  # utilities, semi-values, pairs, four scores and the control
    certified = rows[(rows["semivalue"] == "loo") & rows["certified_hoeffding"]]
    assert len(certified)
    assert certified["agrees"].fillna(True).all()  # the theorem; exact here
    again = audit_certificates(problem, SEED, values, marginals, semivalues, 8, 4, 0.05, 2)
    assert rows.equals(again)


def test_scores_without_a_scale_keep_their_order_and_are_small():
    s = np.array([1.0, 2.0, 4.0])
    found = scaled({IN_UNITS: s}, np.array([[-1.0, -2.0, -4.0]]))
    np.testing.assert_array_equal(found[f"{IN_UNITS} (raw)"], s)
    assert (np.diff(found[IN_UNITS]) > 0).all()
    assert np.abs(found[IN_UNITS]).max() < 1e-8
    some = scaled({IN_UNITS: s}, np.array([[3.0, 6.0]]), np.array([0, 1]))
    np.testing.assert_allclose(some[IN_UNITS], 3 * s)


def test_retraining_audit(audited):
    problem, values, _, _ = audited
    found = audit_retraining(problem, SEED, values, SETTINGS, 15, 8, 10, [0.05, 0.1], 0.05)
    fidelity = found["fidelity"].set_index("method")["spearman"]
    assert set(fidelity.index) == set(values)
    assert fidelity[IN_UNITS] > 0.9
    assert len(found["datamodelling"]) == 2 * len(values)
    certificates = found["certificates"]
    assert certificates["exact"].all()
    in_pairs = set(certificates["i"]) | set(certificates["j"])
    assert not in_pairs & set(found["marginals"]["point"])  # calibrated on other points
    assert certificates.loc[certificates["certified_hoeffding"], "agrees"].all()


def test_bridge_audit(audited):
    problem, _, _, _ = audited
    rows = audit_bridge(problem, SEED, SETTINGS, points=2, sizes=[0.5, 1.0], intervals=4)
    assert len(rows) == 2 * 2 * 2
    assert set(rows["readout"]) == {"terminal", "participation"}
    assert rows["holds"].all()
    assert rows["size"].max() == 59
