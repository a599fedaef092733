"""The audits of one problem: what they are made of, on small problems and development seeds."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.audit.certificates import SAMPLES_ONLY
from nddv.audit.marginals import audit_marginals
from nddv.audit.run import (
    PARTICIPATION,
    audit_bridge,
    audit_certificates,
    audit_retraining,
    audit_scores,
    calibration_points,
    nddv_scores,
    scaled,
)
from nddv.methods.valuation import fit_nddv, nddv_values, value
from nddv.methods.variants import RELEASED
from nddv.problems import make_problem
from nddv.values import Values

SEED = 100
SIDE = {"valid": 40, "test": 10, "meta": 40}
SETTINGS = {"epochs": 4}


@pytest.fixture(scope="module")
def audited():
    """A problem, values of the readouts, as released, of a control, and reference marginals."""
    problem, _ = make_problem("2dplanes", 60, "label10", SEED, SIDE)
    readouts = ["terminal", "path", "participation", "shapley"]
    (values,) = nddv_values([problem], [SEED], readouts, **SETTINGS)
    values |= {name: value(name, problem, SEED) for name in ("small-loss", RELEASED)}
    marginals, shares, record = audit_marginals(problem, SEED, 100)
    return problem, values, marginals, (shares, record)


def test_scores_have_the_differences_of_the_values_and_participation_its_own_zero(audited):
    problem, values, _, _ = audited
    scores = nddv_scores(values)
    assert set(scores) == {"nddv-terminal", "nddv-path", PARTICIPATION, "nddv-shapley", RELEASED}
    for method, s in scores.items():
        np.testing.assert_allclose(60 / 59 * (s - s.mean()), values[method].values, atol=1e-12)
    assert scores["nddv-path"].mean() == pytest.approx(0, abs=1e-12)
    model = fit_nddv(problem, SEED, "participation", SETTINGS)
    np.testing.assert_allclose(scores[PARTICIPATION], model.sensitivities_, rtol=1e-10)


def test_all_utilities_are_audited_and_their_cost_is_told(audited, tmp_path, monkeypatch):
    problem, values, marginals, (_, record) = audited
    assert list(marginals) == ["accuracy", "log_likelihood", "probability"]
    assert record["fits"] > 3 * (60 + 90)  # leave-one-out of each utility, and three semi-values
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path))
    again, _, shared = audit_marginals(problem, SEED, 100, cache=True)
    assert shared["fits"] <= record["fits"] - 2 * 60  # leave-one-out is fitted once
    np.testing.assert_allclose(
        again["log_likelihood"].shapley, marginals["log_likelihood"].shapley, atol=1e-5
    )
    failed = Values(np.empty(0), record={"gap": "ValueError: too few points"})
    frames = audit_scores(marginals, {**values, "failed": failed}, SEED, calibration=0.25)
    errors = frames["errors"].groupby("utility")["readout"].count()
    # four calibrated and zero; by log-likelihood, participation also raw
    assert dict(errors) == {"accuracy": 5, "log_likelihood": 6, "probability": 5}
    assert len(frames["gaps"]) == 3
    ranks = frames["ranks"]
    assert len(ranks) == 3 * 7 * 3
    assert set(ranks.loc[ranks["method"] == "failed", "gap"]) == {"ValueError: too few points"}


def test_readouts_without_values_are_refused(audited):
    _, values, marginals, _ = audited
    gap = Values(np.empty(0), record={"gap": "FloatingPointError: diverged"})
    with pytest.raises(ValueError, match="nddv-path has no values to audit: FloatingPointError"):
        audit_scores(marginals, {**values, "nddv-path": gap}, SEED, 0.25)


def test_certificates_of_every_semivalue(audited):
    problem, values, marginals, _ = audited
    semivalues = ["loo", "shapley", "banzhaf", "beta"]
    settings = (values, marginals, semivalues, 40, 4, 0.05, 0.25)
    rows = audit_certificates(problem, SEED, *settings)
    # five scores and the control; the derivatives of a utility also raw
    assert len(rows) == 40 * 4 * (6 + 7 + 7)
    scores = rows[(rows["semivalue"] == "loo") & (rows["readout"] != SAMPLES_ONLY)]
    certified = scores[scores["certified_hoeffding"]]
    assert 0 < len(certified) < len(scores)
    assert certified["agrees"].astype(bool).all()  # the theorem; exact here
    fitted = calibration_points(60, SEED, 0.25)
    assert not (set(rows["i"]) | set(rows["j"])) & set(fitted)
    assert rows.equals(audit_certificates(problem, SEED, *settings))


def test_scores_without_a_scale_certify_nothing_and_say_so(audited):
    problem, values, marginals, _ = audited
    turned = {
        method: Values.centered(-own.sensitivities, None, own.record)
        for method, own in values.items()
        if own.sensitivities is not None
    }
    rows = [
        audit_certificates(problem, SEED, given, marginals, ["loo"], 8, 4, 0.05, 0.25)
        for given in (values, turned)
    ]
    of_terminal = [one[one["readout"] == "nddv-terminal"].groupby("utility") for one in rows]
    for utility in marginals:
        # one of the two signs fits
        notes = {set(one.get_group(utility)["note"]).pop() for one in of_terminal}
        assert notes == {"", "no positive factor fits"}
    for one in rows:
        blank = one[one["note"] != ""]
        assert len(blank)
        assert not blank["certified_bernstein"].any()
        assert blank["score_gap"].isna().all()
        assert blank["agrees"].isna().all()


def test_scales_are_fitted_to_some_points():
    s = np.array([1.0, 2.0, 4.0])
    found = scaled({PARTICIPATION: s}, {PARTICIPATION}, np.array([0, 1]), np.array([3.0, 6.0]))
    np.testing.assert_allclose(found[PARTICIPATION], 3 * s)
    np.testing.assert_array_equal(found[f"{PARTICIPATION} (raw)"], s)
    assert scaled({"a": s}, set(), np.array([0]), np.array([-3.0])) == {"a": None}


def test_retraining_audit(audited):
    problem, values, _, _ = audited
    given = (SETTINGS, 15, 6, 8, 10, [0.05, 0.1], 0.05)
    found = audit_retraining(problem, SEED, values, *given)
    fidelity = found["fidelity"].set_index("method")
    assert set(fidelity.index) == set(values)
    assert fidelity.loc[PARTICIPATION, "spearman"] > 0.9
    assert fidelity["reliability_shapley"].nunique() == 1
    assert fidelity.loc["nddv-shapley", "shapley"] > fidelity.loc["nddv-terminal", "shapley"]
    assert len(found["datamodelling"]) == 2 * len(values)
    certificates = found["certificates"]
    assert certificates["exact"].all()
    in_pairs = set(certificates["i"]) | set(certificates["j"])
    assert not in_pairs & set(found["marginals"]["point"])  # calibrated on other points
    ours = certificates[certificates["readout"] == f"{PARTICIPATION} (raw)"]
    assert ours["certified_hoeffding"].mean() > 0.5
    assert ours.loc[ours["certified_hoeffding"], "agrees"].astype(bool).all()


def test_values_of_another_model_are_not_audited_by_retraining(audited):
    problem, values, _, _ = audited
    with pytest.raises(ValueError, match="not those of the model that is retrained"):
        audit_retraining(problem, SEED, values, {"epochs": 3}, 15, 6, 8, 10, [0.1], 0.05)


def test_bridge_audit(audited):
    problem, _, _, _ = audited
    rows = audit_bridge(problem, SEED, SETTINGS, points=2, sizes=[0.5, 1.0], intervals=4)
    assert len(rows) == 2 * 2 * 2
    assert set(rows["readout"]) == {"terminal", "participation"}
    assert rows["holds"].all()
    assert rows["size"].max() == 59


@pytest.mark.parametrize(("share", "count"), [(0.0, 1), (0.01, 1), (0.25, 15), (1.0, 60)])
def test_scales_are_fitted_to_a_share_of_the_points_and_at_least_one(share, count):
    chosen = calibration_points(60, SEED, share)
    assert len(set(chosen)) == count
    assert (np.diff(chosen) > 0).all()
