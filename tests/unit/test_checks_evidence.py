"""Evidence on rows whose labels look wrong: similar rows and columns that contradict."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nddv.checks import evidence
from nddv.checks.evidence import contradictions, gather_evidence, similar_rows, typical_rows


def nearest_by_hand(X, row, trusted, k):
    spread = X.std(axis=0)
    Z = np.clip((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), -3, 3)
    apart = ((Z - Z[row]) ** 2).sum(axis=1)
    apart[~trusted] = np.inf
    apart[row] = np.inf
    return np.argsort(apart, kind="stable")[:k]


@pytest.mark.parametrize("chunk", [10, 4_000_000])
def test_similar_rows_are_the_nearest_trusted_ones(monkeypatch, chunk):
    monkeypatch.setattr(evidence, "CHUNK_ELEMENTS", chunk)
    rng = np.random.default_rng(100)
    X = rng.standard_t(2, size=(60, 5)) * [1, 10, 0.1, 1e6, 0]  # heavy tails; one is constant
    trusted = rng.random(60) < 0.5
    rows = np.arange(0, 60, 3)
    found = similar_rows(X, rows, trusted, k=4)
    assert found.tolist() == [nearest_by_hand(X, r, trusted, 4).tolist() for r in rows]


@pytest.mark.parametrize("kind", [pd.DataFrame, sparse.csr_array, lambda X: X.astype(np.float32)])
def test_similar_rows_of_any_kind_of_table(kind):
    X = np.random.default_rng(101).integers(0, 3, size=(40, 6)).astype(np.float64)
    X += np.linspace(0, 0.01, 40)[:, None]  # no ties
    trusted = np.ones(40, bool)
    assert (similar_rows(kind(X), [3, 7], trusted) == similar_rows(X, [3, 7], trusted)).all()


def test_a_row_is_not_similar_to_itself_but_to_its_copy():
    X = np.array([[0.0], [0.0], [5.0], [9.0]])
    found = similar_rows(X, [0, 2], np.ones(4, bool), k=2)
    assert found[0, 0] == 1
    assert 2 not in found[1]


def test_too_few_trusted_rows_are_filled_up():
    X = np.arange(4.0)[:, None]
    assert similar_rows(X, [0], np.array([1, 0, 1, 0], bool), k=3).tolist() == [[2, -1, -1]]
    assert similar_rows(X, [0], np.zeros(4, bool), k=2).tolist() == [[-1, -1]]
    assert similar_rows(X, [], np.ones(4, bool), k=2).shape == (0, 2)


def test_a_rare_level_does_not_outweigh_all_other_features():
    X = np.zeros((1000, 3))
    X[:, 0] = np.linspace(-1, 1, 1000)
    X[:, 1] = X[::-1, 0]
    X[[0, 999], 2] = 1.0  # two rows at the opposite ends share a level that no other has
    assert 999 not in similar_rows(X, [0], np.ones(1000, bool))


def test_large_numbers_do_not_overflow():
    X = np.array([[1e200], [2e200], [9e200]])
    assert similar_rows(X, [0], np.ones(3, bool), k=1).tolist() == [[1]]


WEIGHTS = np.array([[0.0, 0.0, 0.0, 0.0], [3.0, -2.0, 1.0, 1.0]])  # of two classes


def linear(X):
    return X @ WEIGHTS.T


def test_contradictions_of_a_linear_model_are_its_contributions():
    X = np.array([[1.0, 1.0, 4.0, 0.0], [2.0, -5.0, 0.0, 1.0]])
    columns = [("a", [0]), ("b", [1]), ("c", [2, 3])]
    typical = np.array([[0.5, 0.0, 1.0, 0.0], [9.0, 9.0, 9.0, 9.0]])
    first, second = contradictions(linear, X, [0, 1], [0, 0], [1, 1], columns, typical)
    # row 0: a 3·(1 − .5), b −2·1 is no contradiction, c 1·(4 − 1) + 1·0
    assert [(c.column, c.weight) for c in first] == [("c", 3.0), ("a", 1.5)]
    # row 1: a 3·1.5, b −2·−5, c −1 + 1 = 0 is none
    assert [(c.column, c.weight) for c in second] == [("b", 10.0), ("a", 4.5)]
    ((top,),) = contradictions(linear, X, [1], [0], [1], columns, typical, k=1)
    assert top.column == "b"


def test_what_many_columns_say_is_seen_although_no_single_one_is_needed():
    columns = [(f"c{j}", [j]) for j in range(3)]

    def score(X):  # one of the first two is enough
        return np.maximum(X[:, :1], X[:, 1:2]) * [[0.0, 1.0]]

    (found,) = contradictions(score, np.ones((1, 3)), [0], [0], [1], columns, np.zeros((2, 3)))
    assert [(c.column, c.weight) for c in found] == [("c0", 0.5), ("c1", 0.5)]


def test_columns_of_little_weight_are_not_named():
    def score(X):
        return X @ [[0.0, 100.0], [0.0, 1.0]]

    columns = [("a", [0]), ("b", [1])]
    (found,) = contradictions(score, np.ones((1, 2)), [0], [0], [1], columns, np.zeros((2, 2)))
    assert [c.column for c in found] == ["a"]


def test_the_other_way_round_other_columns_contradict():
    X = np.array([[1.0, 1.0, 4.0, 0.0]])
    (found,) = contradictions(linear, X, [0], [1], [0], [("a", [0]), ("b", [1])], np.zeros((2, 4)))
    assert [(c.column, c.weight) for c in found] == [("b", 2.0)]


def test_contradictions_do_not_depend_on_the_batches(monkeypatch):
    rng = np.random.default_rng(102)
    X, W = rng.normal(size=(30, 8)), rng.normal(size=(8, 3))
    given = rng.integers(0, 3, 30)
    columns = [(f"c{j}", [2 * j, 2 * j + 1]) for j in range(4)]
    sizes = []

    def score(rows):
        sizes.append(len(rows))
        return np.tanh(rows @ W)

    case = (score, X, np.arange(30), given, (given + 1) % 3, columns, np.zeros((3, 8)))
    whole = contradictions(*case)
    assert len(sizes) == 4  # the rows, typical rows, and all exchanges of either together
    monkeypatch.setattr(evidence, "CHUNK_ELEMENTS", 50)
    assert contradictions(*case) == whole
    assert max(sizes[6:]) <= 6


def test_of_many_columns_the_heavy_ones_are_tried(monkeypatch):
    monkeypatch.setattr(evidence, "MANY", 4)
    rng = np.random.default_rng(103)
    X, weights = np.abs(rng.normal(size=(20, 40))) + 1, np.zeros(40)
    weights[[7, 30, 31]] = [3.0, 8.0, -5.0]
    asked = []

    def score(rows):
        asked.append(len(rows))
        return rows @ np.stack([np.zeros(40), weights], axis=1)

    rows, columns = np.arange(20), [(f"c{j}", [j]) for j in range(40)]
    every = np.zeros(20, np.intp), np.ones(20, np.intp), columns, np.zeros((2, 40))
    found = contradictions(score, X, rows, *every)
    assert {c.column for own in found for c in own} == {"c7", "c30"}
    assert sum(asked) == 2 * (2 + 2 * 40) + 2 * (
        20 + 20 * 4
    )  # a tenth of the rows, then four columns


def test_what_is_typical_of_a_class():
    X = np.array(
        [  # a number; a category of three levels; a number and whether it is missing
            [1.0, 1, 0, 0, 7.5, 0],
            [2.0, 0, 1, 0, 8.5, 0],
            [9.0, 0, 1, 0, 9.5, 1],
            [99.0, 0, 0, 1, 0.0, 1],  # not trusted
            [5.0, 0, 0, 1, 0.0, 0],  # the only one of its class, not trusted
        ]
    )
    trusted = np.array([1, 1, 1, 0, 0], bool)
    columns = [("number", [0]), ("level", [1, 2, 3]), ("gaps", [4, 5])]
    typical = typical_rows(X, np.array([0, 0, 0, 0, 1]), trusted, columns, 3)
    assert typical[0].tolist() == [2.0, 0, 1, 0, 8.5, 0]
    assert typical[1].tolist() == X[4].tolist()
    assert typical[2].tolist() == [0.0] * 6  # no row has this class


def report(labels, suggested, p_wrong):
    return pd.DataFrame({"label": labels, "suggested": suggested, "p_wrong": p_wrong})


def test_evidence_on_rows_of_a_report():
    X = np.array([[0.0, 5.0], [0.1, 5.0], [9.0, 5.0], [9.1, 5.1], [8.9, 5.0]])
    rows = report([*"aabba"], [*"aabbb"], [0.0, 0.01, 0.0, 0.3, 0.9])
    classes = np.array(["a", "b"])
    model = SimpleNamespace(classes_=classes, class_scores=lambda X: X @ [[0, 1.0], [0, 0.0]])
    columns = [("length", [0]), ("width", [1])]
    found = gather_evidence(rows, model, X, [4, 0], columns, k=2)
    assert found.similar[0, 0] == 2  # row 3 is nearer, but not trusted
    assert 3 not in found.similar
    (length,), none = found.contradictions
    assert (length.column, none) == ("length", [])
    assert length.weight == pytest.approx(8.9 - 0.05)
    assert gather_evidence(rows, model, X, [4]).contradictions == [[]]  # nothing can be named
