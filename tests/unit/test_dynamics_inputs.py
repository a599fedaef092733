"""From columns to inputs: standardised, or cut, weighed and encoded, by plain loops."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse

import nddv
from nddv.dynamics.inputs import LIMIT, bin_edges, bins_for, has_several
from nddv.dynamics.rows import Rows

CPU = torch.device("cpu")
N, ENERGY, BINS = 400, 6.0, 5
TWO_VALUED, CONSTANT = 2, 4


def table(n: int = N, seed: int = 0) -> np.ndarray:
    """Columns: normal, heavy-tailed, a rare category, a few values, and constant."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(3.0, 2.0, n),
        rng.standard_t(2, n) * 10,
        rng.random(n) < 0.1,
        rng.integers(0, 4, n),
        np.full(n, 7.0),
    ]
    return np.column_stack(columns)


def fitted(x: object, **settings: object) -> Rows:
    return Rows.fit(x, ENERGY, torch.float64, CPU, **settings)


def taken(rows: Rows) -> np.ndarray:
    return rows.take(slice(0, len(rows))).numpy()


def energies(x: np.ndarray) -> list[float]:
    """Of the columns: 1 of numbers, 4p(1 − p) of two values, 0 of constants; in sum `ENERGY`."""
    own = []
    for column in x.T:
        values, counts = np.unique(column, return_counts=True)
        share = counts[0] / len(x)
        own.append({1: 0.0, 2: 4 * share * (1 - share)}.get(len(values), 1.0))
    return [ENERGY * e / sum(own) for e in own]


def plain_encoding(train: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    """One column per bin: 0 below it, 1 above it, linear inside; of a column of numbers (m,)."""
    edges = sorted(set(np.quantile(train, np.linspace(0, 1, BINS + 1))))
    columns = []
    for low, high in pairwise(edges):
        column = []
        for value in x:
            if value <= low:
                column.append(0.0)
            elif value >= high:
                column.append(1.0)
            else:
                column.append((value - low) / (high - low))
        columns.append(np.array(column))
    return columns


@pytest.mark.parametrize(
    ("n", "columns", "bins"),
    [
        (1000, 10, 8),  # √1000/4 = 7.9
        (10_000, 10, 25),
        (1000, 40, 5),  # 200 inputs for all columns
        (1000, 51, 0),  # fewer than four: none
        (100, 3, 0),  # √100/4 = 2.5
        (200, 1, 4),  # 3.5
        (1_000_000, 2, 250),
        (1_000_000, 250, 4),  # 1024 inputs
        (1_000_000, 300, 0),
        (1000, 0, 8),  # nothing to encode, and no error
    ],
)
def test_bins_are_as_many_as_rows_and_columns_allow(n: int, columns: int, bins: int) -> None:
    assert bins_for(n, columns) == bins


def test_edges_of_bins_are_quantiles() -> None:
    values = np.random.default_rng(0).normal(size=400)
    found = bin_edges(values, 8)
    np.testing.assert_allclose(found, np.quantile(values, np.linspace(0, 1, 9)), rtol=1e-12)
    # of a few values, each is an edge
    np.testing.assert_array_equal(bin_edges(np.repeat([2.0, 0.0, 1.0], 5), 8), [0, 1, 2])


@pytest.mark.parametrize("frequent", [0.0, 50.0, 100.0])
def test_a_frequent_value_fills_one_bin_at_most(frequent: float) -> None:
    """Nine in ten rows have one value; the bins are where the others are."""
    others = np.linspace(1.0, 99.0, 100)
    edges = bin_edges(np.concatenate([np.full(900, frequent), others]), 8)
    assert len(edges) == 9
    assert edges[0] == min(frequent, 1.0)
    assert edges[-1] == max(frequent, 99.0)
    inside, _ = np.histogram(others, edges)
    # 100 rows in seven bins or more: the 900 rows of one value take the place of one at most
    assert inside.max() <= 17
    assert np.sort(inside)[1] >= 5


def test_a_column_of_mostly_one_value_weighs_as_a_category_does() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 3))
    x[:920, 1] = 0.0
    x[:400, 2] = 0.0  # fewer than half
    found = taken(fitted(x, encoded=True)) ** 2
    # a column and its bins, which stand behind all columns, have half of its energy each
    bins = found[:, 3:].mean(0).reshape(3, -1).sum(1)
    shares = bins / bins.sum()
    rare = 4 * 0.92 * 0.08
    np.testing.assert_allclose(shares, np.array([1, rare, 1]) / (2 + rare), rtol=1e-9)


def test_columns_of_two_values_are_linear_anyway() -> None:
    assert has_several(table()).tolist() == [True, True, False, True, False]


def test_plain_inputs_are_standardised_columns_of_the_same_energy() -> None:
    x, other = table(), table(60, seed=1)
    rows = fitted(x)
    assert rows.inputs.bins is None
    assert rows.inputs.count == 5
    assert rows.inputs.columns == 4
    for part, found in ((x, taken(rows)), (other, taken(rows.like(other)))):
        for column in range(4):
            z = (part[:, column] - x[:, column].mean()) / x[:, column].std()
            np.testing.assert_allclose(found[:, column], np.sqrt(ENERGY / 4) * z, atol=1e-12)
        assert (found[:, CONSTANT] == 0).all()
    assert (taken(rows) ** 2).sum(1).mean() == pytest.approx(ENERGY)


def test_encoded_inputs_are_those_of_a_plain_loop() -> None:
    """Of the training rows, and of others by the map of the training rows."""
    x, other = table(), table(60, seed=1)
    rows, roots = fitted(x, encoded=True), np.sqrt(energies(x))
    for part, found in ((x, taken(rows)), (other, taken(rows.like(other)))):
        expected = [np.zeros(len(part)) for _ in range(5)]
        for column in range(4):
            half = 1.0 if column == TWO_VALUED else np.sqrt(0.5)
            z = (part[:, column] - x[:, column].mean()) / x[:, column].std()
            expected[column] = half * roots[column] * np.clip(z, -LIMIT, LIMIT)
        for column in (0, 1, 3):
            own, known = x[:, column], plain_encoding(x[:, column], x[:, column])
            means = [b.mean() for b in known]
            energy = sum((b - mean) ** 2 for b, mean in zip(known, means, strict=True)).mean()
            for mean, b in zip(means, plain_encoding(own, part[:, column]), strict=True):
                expected.append(np.sqrt(0.5) * roots[column] * (b - mean) / np.sqrt(energy))
        np.testing.assert_allclose(found, np.column_stack(expected), atol=1e-12)
    assert rows.inputs.count == taken(rows).shape[1]
    assert rows.inputs.columns == 4


def test_a_column_and_its_bins_share_its_energy() -> None:
    """But for what is cut: a normal column has little of it. A rare category has less energy."""
    x = table()
    x[:, 1] = np.clip(x[:, 1], -5, 5)
    z, bins = taken(rows := fitted(x, encoded=True)), rows.inputs.bins
    energy, of_column = (z**2).mean(0), energies(x)
    for column in range(5):
        encoded = energy[5:][bins.column.numpy() == column].sum()
        if column == TWO_VALUED:
            assert energy[column] == pytest.approx(of_column[column])
            assert encoded == 0
        elif column != CONSTANT:
            assert encoded == pytest.approx(of_column[column] / 2)
            assert energy[column] == pytest.approx(of_column[column] / 2, rel=0.02)
    assert of_column[TWO_VALUED] < 0.5 * of_column[0]


def test_constant_columns_become_zero_everywhere() -> None:
    rows = fitted(table(), encoded=True)
    assert (taken(rows)[:, CONSTANT] == 0).all()
    assert (taken(rows.like(table() + 5.0))[:, CONSTANT] == 0).all()
    assert CONSTANT not in rows.inputs.bins.column


def test_far_values_are_cut_where_inputs_are_encoded() -> None:
    x = table()
    assert np.abs(taken(fitted(x))[:, 1]).max() > LIMIT * np.sqrt(ENERGY / 4)
    rows = fitted(x, encoded=True)
    most = LIMIT * np.sqrt(energies(x)[1] / 2)
    assert np.abs(taken(rows)[:, 1]).max() == pytest.approx(most)
    far = taken(rows.like(x * 1e100))
    assert np.isfinite(far).all()
    assert np.abs(far[:, 1]).max() == pytest.approx(most)


def test_sparse_rows_are_plain() -> None:
    x = table()
    plain, thin = fitted(x), fitted(sparse.csr_matrix(x), encoded=True)
    assert thin.inputs.bins is None
    np.testing.assert_allclose(taken(thin), taken(plain), atol=1e-12)


def test_only_columns_of_several_values_share_the_bins() -> None:
    x = np.random.default_rng(0).normal(size=(400, 2))
    flags = np.random.default_rng(1).integers(0, 2, (400, 100))
    rows = fitted(np.column_stack([x, flags]), encoded=True)
    assert len(rows.inputs.bins.column) == 2 * bins_for(400, 2) == 10
    assert fitted(flags.astype(float), encoded=True).inputs.bins is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_disk_have_the_same_bits(tmp_path: Path, dtype: type) -> None:
    x = table().astype(dtype)
    np.save(tmp_path / "x.npy", x)
    stored = fitted(nddv.open_rows(tmp_path / "x.npy"), encoded=True)
    memory = fitted(x, encoded=True)
    assert stored.inputs.bins is not None
    for where in (slice(0, N), torch.tensor([5, 0, 399, 5])):
        assert torch.equal(stored.take(where), memory.take(where))


def test_quantiles_of_very_many_rows_are_those_of_blocks_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evenly spaced blocks, so that rows on disk are read in pieces."""
    monkeypatch.setattr("nddv.dynamics.rows.BLOCK", 4)
    monkeypatch.setattr("nddv.dynamics.rows.SAMPLE", 4 * 5 * 10)  # ten blocks of five columns
    x = table()
    starts = (np.linspace(0, 99, 10).astype(int) * 4)[:, None]
    sample = x[(starts + np.arange(4)).ravel()]
    found = fitted(x, encoded=True).inputs.bins
    edges = np.unique(np.quantile(sample[:, 0], np.linspace(0, 1, BINS + 1)))
    np.testing.assert_allclose(found.start.numpy()[found.column.numpy() == 0], edges[:-1])


def test_rows_of_a_subset_are_mapped_by_the_subset() -> None:
    x, index = table(), np.arange(0, N, 2)
    view, copy = fitted(x, index=index, encoded=True), fitted(x[index], encoded=True)
    assert torch.equal(view.take(slice(0, 50)), copy.take(slice(0, 50)))
