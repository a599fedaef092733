"""Wrong labels of a small table are counted, found and mended; what cannot be judged is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import nddv
from nddv import NDDV
from nddv.checks.labels import Estimate, check_labels, judge_labels
from nddv.support.wording import InputWarning

N, FLIPPED = 240, 24
QUICK = NDDV(random_state=100, members=2)


def table(n: int = N, flipped: int = FLIPPED, seed: int = 100):
    """Features (n, 4), labels of three classes of which some are wrong, and the right ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    clean = X[:, :3].argmax(1)
    y = clean.copy()
    chosen = rng.choice(n, flipped, replace=False)
    y[chosen] = (clean[chosen] + rng.integers(1, 3, flipped)) % 3
    return X, y, clean


X, Y, CLEAN = table()
NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture(scope="module")
def found():
    return check_labels(X, NAMES[Y], model=QUICK)


def test_the_number_of_wrong_labels_is_within_its_interval(found):
    assert found.wrong.low <= FLIPPED <= found.wrong.high
    assert found.wrong.count == pytest.approx(FLIPPED, abs=8)
    assert found.p_wrong.sum() == pytest.approx(found.wrong.count)


def test_wrong_labels_are_found_and_mended(found):
    wrong, flagged = CLEAN != Y, found.p_wrong > 0.5
    assert flagged[wrong].mean() >= 0.8
    assert wrong[flagged].mean() >= 0.8
    mended = found.suggested == NAMES[CLEAN]
    assert mended[wrong & flagged].mean() >= 0.9
    assert (found.suggested[~flagged] == NAMES[Y][~flagged]).all()
    assert (found.suggested[flagged] != NAMES[Y][flagged]).all()


def test_probabilities_belong_together(found):
    assert found.truth.shape == (N, 3)
    np.testing.assert_allclose(found.truth.sum(1), 1.0)
    rows = np.arange(N)
    np.testing.assert_allclose(found.p_wrong, 1 - found.truth[rows, found.codes], atol=1e-12)
    assert (found.best_other != found.codes).all()
    suggested = np.searchsorted(NAMES, found.suggested)
    np.testing.assert_array_equal(found.p_suggested, found.truth[rows, suggested])
    assert not found.unjudged.any()


def test_classes_sum_to_the_whole(found):
    by_class = found.by_class
    assert by_class["label"].tolist() == NAMES.tolist()
    assert by_class["rows"].tolist() == np.bincount(Y).tolist()
    assert by_class["wrong"].sum() == pytest.approx(found.wrong.count)
    assert (by_class["low"] <= by_class["wrong"]).all()
    assert (by_class["wrong"] <= by_class["high"]).all()
    assert (by_class["high"] <= by_class["rows"]).all()


def test_a_row_is_scored_by_a_model_that_has_not_seen_it(found):
    """Its own label does not enter its scores, though it does those of others."""
    quick = NDDV(random_state=100, members=1, epochs=2)
    before = check_labels(X, Y, model=quick, folds=2)
    parts = [np.random.default_rng(0).permutation(N)[:120]]
    parts.append(np.setdiff1d(np.arange(N), parts[0]))
    from nddv.estimator.held_out import held_out_scores

    changed = Y.copy()
    changed[parts[0]] = (Y[parts[0]] + 1) % 3
    one, _ = held_out_scores(quick, X, Y, parts)
    other, _ = held_out_scores(quick, X, changed, parts)
    np.testing.assert_array_equal(one[parts[0]], other[parts[0]])
    assert not np.allclose(one[parts[1]], other[parts[1]])
    assert before.scores.shape == one.shape == found.scores.shape


def test_trusted_rows_are_used():
    quick = NDDV(random_state=100, members=1, epochs=4)
    trusted, _, right = table(60, 0, seed=101)
    alone = check_labels(X, Y, model=quick)
    helped = check_labels(X, Y, trusted, right, model=quick)
    np.testing.assert_array_equal(alone.scores, helped.scores)  # no model is trained on them
    assert len(helped.p_wrong) == N
    assert not np.array_equal(alone.p_wrong, helped.p_wrong)
    assert abs(helped.wrong.count - FLIPPED) <= abs(alone.wrong.count - FLIPPED) + 5


def test_the_same_seed_says_the_same():
    quick = NDDV(random_state=100, members=1, epochs=2)
    one, again = (check_labels(X, Y, model=quick, folds=2) for _ in range(2))
    np.testing.assert_array_equal(one.p_wrong, again.p_wrong)
    assert one.wrong == again.wrong


def test_classes_of_a_few_rows_are_not_judged():
    names = NAMES[Y].astype("<U9")
    names[7], names[20:24] = "single", "few"
    with pytest.warns(InputWarning, match=r"few \(4\), single \(1\); whether these 5 rows"):
        found = check_labels(X, names, model=NDDV(random_state=100, members=1, epochs=4))
    small = [7, 20, 21, 22, 23]
    assert found.unjudged.sum() == 5
    assert found.unjudged[small].all()
    assert (found.p_wrong[small] == 0).all()
    assert (found.suggested[small] == names[small]).all()
    by_class = found.by_class.set_index("label")
    assert (by_class.loc[["single", "few"], "wrong"] == 0).all()
    assert by_class.loc[list(NAMES), "wrong"].sum() == pytest.approx(found.wrong.count)


def test_five_of_many_small_classes_are_named():
    codes = np.r_[np.repeat([0, 1], 30), np.arange(2, 9)]
    scores = np.where(np.arange(9) == codes[:, None], 2.0, 0.0)
    with pytest.warns(
        InputWarning, match=r"rows: 2 \(1\), 3 \(1\), 4 \(1\), 5 \(1\), 6 \(1\); whether"
    ):
        judge_labels(scores, codes, np.arange(9))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"y": Y[:-1]}, "y has 239 entries, but X has 240 rows"),
        ({"y": np.zeros(N, int)}, "y has one class only"),
        ({"y": None}, "y is None"),
        ({"X": np.where(np.arange(N)[:, None] == 5, np.nan, X)}, "X has a missing .* row 5"),
        ({"folds": 1}, "folds must be from 2 to the 240 rows, got 1"),
        ({"folds": N + 1}, "folds must be from 2 to the 240 rows, got 241"),
        ({"X_meta": X[:5]}, "y_meta is None"),
        ({"y_meta": Y[:5]}, "X_meta"),
        ({"X_meta": X[:5], "y_meta": [9] * 5}, "y_meta has the class 9 .row 0., which is not in y"),
        ({"X_meta": X[:5, :3], "y_meta": Y[:5]}, "X_meta has 3 features, but X has 4"),
        ({"X_meta": X[:5], "y_meta": Y[:4]}, "y_meta has 4 entries, but X_meta has 5 rows"),
    ],
)
def test_bad_input_is_refused_before_anything_is_trained(changed, says, monkeypatch, says_why):
    def never(*_):
        raise AssertionError("a model was trained")

    monkeypatch.setattr("nddv.checks.labels.held_out_scores", never)
    with pytest.raises(ValueError, match=says) as error:
        check_labels(**{"X": X, "y": Y} | changed)
    says_why(error.value)


def test_columns_of_trusted_rows_have_the_names_of_the_others():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="X_meta has the columns"):
        check_labels(frame, Y, frame[list("dcba")], Y)


def test_an_estimate_stays_within_what_there_is():
    low = Estimate.of(1.0, 10.0, 50)
    high = Estimate.of(49.0, 10.0, 50)
    assert (low.low, high.high) == (0.0, 50.0)
    assert low.high == pytest.approx(1 + 16.45, abs=0.01)  # 90 %: 1.645 standard errors
    assert str(low) == "about 1 (0 to 17)"


@pytest.fixture(scope="module")
def probabilities():
    """Of another model: most of its rows are nearly certain."""
    rng = np.random.default_rng(100)
    scores = rng.normal(size=(N, 3))
    scores[np.arange(N), CLEAN] += 4 + 3 * rng.exponential(size=N)
    return softmax(scores, axis=1)


class TestAsCleanlab:
    """find_label_issues has the shapes and the order of cleanlab's function."""

    def test_a_mask(self, probabilities):
        mask = nddv.find_label_issues(Y, probabilities)
        assert mask.dtype == bool
        assert mask.shape == (N,)
        assert mask[CLEAN != Y].mean() > 0.7
        assert mask[CLEAN == Y].mean() < 0.05

    def test_indices_the_surest_first(self, probabilities):
        mask = nddv.find_label_issues(Y, probabilities)
        ranked = nddv.find_label_issues(Y.tolist(), probabilities, "self_confidence")
        assert sorted(ranked) == np.flatnonzero(mask).tolist()
        p_wrong = judge_labels(np.log(probabilities), Y, np.arange(3)).p_wrong
        assert (np.diff(p_wrong[ranked]) <= 0).all()

    def test_a_class_without_rows(self, probabilities):
        wider = np.hstack([probabilities, np.zeros((N, 1))])
        assert nddv.find_label_issues(Y, wider).sum() == pytest.approx(FLIPPED, abs=6)

    @pytest.mark.parametrize(
        ("labels", "change", "says"),
        [
            (Y[:-1], lambda p: p, r"pred_probs must be probabilities \(239, C\)"),
            (Y, lambda p: p[:, 0], r"pred_probs must be probabilities \(240, C\)"),
            (Y, lambda p: -p, "pred_probs must be probabilities"),
            (Y, lambda p: p / p.max() * 1.01, "pred_probs must be probabilities"),
            (Y, lambda p: p * np.nan, "pred_probs must be probabilities"),
            (Y, lambda p: p + np.inf, "pred_probs must be probabilities"),
            (Y + 1, lambda p: p, "labels must be classes 0 … 2, got 3"),
            (Y - 1, lambda p: p, "labels must be classes 0 … 2, got -1"),
            (Y + 0.5, lambda p: p, "labels must be classes 0 … 2"),
            (NAMES[Y], lambda p: p, "labels must be classes 0 … 2"),
        ],
    )
    def test_bad_input(self, probabilities, labels, change, says, says_why):
        with pytest.raises(ValueError, match=says) as error:
            nddv.find_label_issues(labels, change(probabilities))
        says_why(error.value)
