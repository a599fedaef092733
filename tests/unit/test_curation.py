"""Removal and addition curves: those of a plain loop, in the right direction, without leakage."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from nddv.evaluation import curation
from nddv.evaluation.curation import (
    CONTROL,
    DIRECTIONS,
    GOOD,
    SHARES,
    curation_curves,
    curation_scores,
    curation_tables,
)
from nddv.problems import Problem, make_problem
from nddv.values import Values

SEED = 100
MEASURES = ["accuracy", "log_likelihood"]


def of(method, values, gap=""):
    record = {"method": method, "seed": SEED}
    return Values(np.asarray(values, float), None, record | ({"gap": gap} if gap else {}))


def small_problem(n=40, classes=2, noise=0.2):
    """Gaussian classes with flipped labels; gives the problem and which labels are flipped."""
    rng = np.random.default_rng(SEED)
    centres = 1.5 * rng.normal(size=(classes, 3))

    def part(size):
        y = rng.permutation(np.arange(size) % classes)
        return (centres[y] + rng.normal(size=(size, 3))).astype(np.float32), y

    (X, y), *others = part(n), part(10), part(150), part(10)
    flipped = np.zeros(n, bool)
    flipped[rng.choice(n, round(noise * n), replace=False)] = True
    y = np.where(flipped, (y + 1) % classes, y)
    arrays = [array for pair in [(X, y), *others] for array in pair]
    return Problem(*arrays, record={"classes": [str(c) for c in range(classes)]}), flipped


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_are_those_of_a_plain_loop(classes):
    problem, _ = small_problem(classes=classes)
    values = np.random.default_rng(101).normal(size=40)
    curves = curation_curves(problem, [of("a", values)], SEED)
    curves = curves[curves["method"] == "a"]
    ranked = np.argsort(values)
    compared = 0
    for row in curves.itertuples():
        k = round(row.share * 40)
        kept = {
            "remove_low": ranked[k:],
            "remove_high": ranked[: 40 - k],
            "add_high": ranked[40 - k :],
            "add_low": ranked[:k],
        }[row.direction]
        assert row.size == len(kept)
        y = problem.y_train[kept]
        if len(np.unique(y)) < classes:
            continue  # by definition of the engine, whose tests have these
        model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(problem.X_train[kept], y)
        logs = model.predict_log_proba(problem.X_test)[np.arange(150), problem.y_test]
        assert row.accuracy == pytest.approx(model.score(problem.X_test, problem.y_test))
        assert row.log_likelihood == pytest.approx(np.maximum(logs, np.log(1e-6)).mean(), abs=1e-3)
        compared += 1
    assert compared > 60


def test_every_direction_begins_and_ends_where_it_should():
    problem, _ = small_problem()
    values = [of("a", np.arange(40)), of("b", -np.arange(40))]
    curves = curation_curves(problem, values, SEED)
    full = curves[curves["size"] == 40]
    assert set(full["direction"]) == set(DIRECTIONS)
    assert len({tuple(row) for row in full[MEASURES].to_numpy()}) == 1
    last = curves.groupby("direction")["size"].last()
    assert last.to_dict() == {"remove_low": 20, "remove_high": 20, "add_high": 40, "add_low": 40}
    first = curves.groupby("direction")["size"].first()
    assert first.to_dict() == {"remove_low": 40, "remove_high": 40, "add_high": 0, "add_low": 0}
    # The opposite values swap high and low.
    by = curves[curves["method"] != CONTROL].set_index(["method", "direction"])
    for task in SHARES:
        for one, other in [("low", "high"), ("high", "low")]:
            np.testing.assert_array_equal(
                by.loc[("a", f"{task}_{one}"), MEASURES], by.loc[("b", f"{task}_{other}"), MEASURES]
            )


def test_what_is_added_is_what_removal_leaves():
    problem, _ = small_problem()
    curves = curation_curves(problem, [of("a", np.random.default_rng(102).normal(size=40))], SEED)
    by = curves[curves["method"] == "a"].set_index(["direction", "size"])[MEASURES]
    for added, removed in [("add_low", "remove_high"), ("add_high", "remove_low")]:
        for size in range(20, 41, 2):
            assert tuple(by.loc[(added, size)]) == tuple(by.loc[(removed, size)])


def test_equal_coalitions_are_fitted_once(monkeypatch):
    problem, _ = small_problem()
    fitted = []

    class Counting(curation.Engine):
        def fit(self, weights, start=None):
            fitted.append(np.asarray(weights))
            return super().fit(weights, start)

    monkeypatch.setattr(curation, "Engine", Counting)
    curation_curves(problem, [of("a", np.arange(40)), of("twin", np.arange(40))], SEED)
    _, together = fitted  # the whole training set, then everything in one call
    assert len(np.unique(together, axis=0)) == len(together)
    # 31 sizes from each end; none and all are shared by the 11 orders.
    assert len(together) <= 11 * 58 + 2


def test_ties_are_broken_by_the_seed_and_not_by_index():
    # Sorted by class: an order by index would add one class first.
    problem, _ = small_problem(noise=0.0)
    order = np.argsort(problem.y_train, kind="stable")
    rows = {"X_train": problem.X_train[order], "y_train": problem.y_train[order]}
    problem = Problem(**{**vars(problem), **rows})
    constant = [of("a", np.zeros(40)), of("b", np.ones(40))]
    curves = {seed: curation_curves(problem, constant, seed) for seed in (100, 101, 102)}
    for found in curves.values():
        a, b = (found.loc[found["method"] == name, MEASURES].to_numpy() for name in "ab")
        np.testing.assert_array_equal(a, b)
        early = found[(found["method"] == "a") & (found["share"] == 0.25)]
        assert (early["accuracy"] > 0.7).all()
    again = curation_curves(problem, constant, 100)
    np.testing.assert_array_equal(again[MEASURES], curves[100][MEASURES])
    assert not np.array_equal(curves[100][MEASURES], curves[101][MEASURES])


def test_perfect_values_beat_random_orders_in_every_direction():
    problem, truth = make_problem("digits", 300, "label30", SEED)
    noise = np.random.default_rng(103).normal(size=300)
    values = [of("perfect", noise - 10 * truth.mask), of("reversed", noise + 10 * truth.mask)]
    curves = curation_curves(problem, values, SEED, dtype="float32")
    areas = curation_scores(curves).set_index(["method", "direction"])
    for direction, sign in GOOD.items():
        perfect, reverse = (areas.loc[(m, direction)] for m in ("perfect", "reversed"))
        assert sign * perfect["accuracy"] > 1.5 * perfect["random_accuracy"]
        assert sign * perfect["log_likelihood"] > 0
        assert sign * reverse["accuracy"] < 0
    # Without the flipped labels the model is better than with them: labels are the points' own.
    perfect = curves[(curves["method"] == "perfect") & (curves["direction"] == "remove_low")]
    accuracy = perfect.set_index("share")["accuracy"]
    clean = LogisticRegression(max_iter=1000).fit(
        problem.X_train[~truth.mask], problem.y_train[~truth.mask]
    )
    assert accuracy[0.3] == pytest.approx(clean.score(problem.X_test, problem.y_test), abs=0.012)
    assert accuracy[0.3] > accuracy[0.0] + 0.03


def test_area_by_hand():
    problem, _ = small_problem()
    curves = curation_curves(problem, [of("a", np.arange(40))], SEED, draws=2)
    random = curves["method"] == CONTROL
    curves.loc[random, MEASURES] = 0.5
    up = random & (curves["draw"] == 1)
    curves.loc[up, "accuracy"] += 0.2  # mean 0.6, area of a draw ±0.1
    curves.loc[~random, "accuracy"] = 0.6 + 2 * curves["share"]
    areas = curation_scores(curves).set_index("direction")
    assert areas.loc["remove_low", "accuracy"] == pytest.approx(0.5)
    assert areas.loc["add_high", "accuracy"] == pytest.approx(1.0)
    assert areas.loc["add_low", "random_accuracy"] == pytest.approx(np.std([0.1, -0.1] * 2, ddof=1))


def test_chance_is_that_of_the_test_part():
    problem, _ = small_problem()
    y_test = np.repeat([0, 1], [120, 30])
    problem = Problem(**{**vars(problem), "y_test": y_test})
    curves = curation_curves(problem, [of("a", np.arange(40))], SEED)
    assert (curves["chance_accuracy"] == 0.8).all()
    expected = 0.8 * np.log(0.8) + 0.2 * np.log(0.2)
    assert curves["chance_log_likelihood"].to_numpy() == pytest.approx(expected)


def test_a_gap_is_a_row_with_its_reason():
    problem, _ = small_problem()
    values = [of("a", np.arange(40)), of("broken", [], gap="NoValues: too flat")]
    address = {"dataset": "toy", "n": 40, "corruption": "label20"}
    curves, areas = curation_tables({SEED: problem}, values, address)
    read = pd.read_csv(StringIO(curves.to_csv(index=False)))
    pd.testing.assert_frame_equal(curation_scores(read), areas.drop(columns=list(address)))
    assert list(curves.columns[:5]) == [*address, "method", "seed"]
    gaps = curves[curves["method"] == "broken"]
    assert gaps["direction"].tolist() == list(DIRECTIONS)
    assert gaps["gap"].tolist() == ["NoValues: too flat"] * 4
    assert gaps[["share", *MEASURES]].isna().all(axis=None)
    assert areas["gap"].tolist().count("NoValues: too flat") == 4
    assert areas.loc[areas["method"] == "broken", "accuracy"].isna().all()
    assert areas.loc[areas["method"] == "a", "accuracy"].notna().all()


def test_only_gaps_still_give_the_random_orders():
    problem, _ = small_problem()
    curves = curation_curves(problem, [of("broken", [], gap="NoValues: no")], SEED)
    assert set(curves["method"]) == {"broken", CONTROL}
    assert curation_scores(curves)["accuracy"].isna().all()


def test_bad_input_is_refused():
    problem, _ = small_problem()
    with pytest.raises(ValueError, match="a: 3 values for 40 training points"):
        curation_curves(problem, [of("a", np.arange(3))], SEED)
    with pytest.raises(ValueError, match="at least 2 draws"):
        curation_curves(problem, [of("a", np.arange(40))], SEED, draws=1)
