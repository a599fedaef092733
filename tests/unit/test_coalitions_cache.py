"""Stored utilities: shared between games and processes, and never trusted when damaged."""

from __future__ import annotations

import multiprocessing
import sqlite3
import warnings

import numpy as np
import pytest

from nddv.baselines.leave_one_out import leave_one_out
from nddv.coalitions import Engine, LogisticGame
from nddv.coalitions.cache import ScoreCache, coalition_keys, default_folder, game_key


def make_game(folder, n=30, utility="accuracy", **settings):
    rng = np.random.default_rng(100)
    X, y = rng.standard_normal((n + 40, 3)), rng.integers(2, size=n + 40)
    return LogisticGame(X[:n], y[:n], X[n:], y[n:], 2, utility=utility, cache=folder, **settings)


def subsets(n=30, count=50, seed=101):
    return np.random.default_rng(seed).random((count, n)) < 0.5


@pytest.fixture
def no_fits(monkeypatch):
    """A switch after which nothing may be fitted."""

    def forbid():
        def fail(self, weights, start=None):
            raise AssertionError("fitted again")

        monkeypatch.setattr(Engine, "fit", fail)

    return forbid


def test_one_fit_serves_both_utilities_and_every_rule(tmp_path, no_fits):
    plain = make_game(None, utility="log_likelihood")
    first, second = make_game(tmp_path), make_game(tmp_path, utility="log_likelihood")
    orders = np.array([np.random.default_rng(102).permutation(30) for _ in range(3)])
    accuracy = first.utilities(subsets()), leave_one_out(first).values, first.walk(orders)[0]
    expected = plain.utilities(subsets()), leave_one_out(plain).values, plain.walk(orders)[0]
    no_fits()
    found = second.utilities(subsets()), leave_one_out(second).values, second.walk(orders)[0]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_array_equal(first.utilities(subsets()[:, :].astype(int)), accuracy[0])
    np.testing.assert_array_equal(leave_one_out(first).values, accuracy[1])


def test_only_unknown_coalitions_are_fitted(tmp_path, monkeypatch):
    game = make_game(tmp_path)
    known, new = subsets(count=20), subsets(count=5, seed=103)
    game.utilities(known)
    fitted = []
    fit = Engine.fit
    monkeypatch.setattr(
        Engine, "fit", lambda self, w, start=None: fitted.append(len(w)) or fit(self, w, start)
    )
    mixed = np.concatenate([known[:7], new, known[7:]])
    found = game.utilities(mixed)
    assert fitted == [5]
    np.testing.assert_array_equal(found, make_game(None).utilities(mixed))


def test_a_half_known_walk_goes_on(tmp_path):
    order = np.random.default_rng(104).permutation(30)[None]
    game = make_game(tmp_path, utility="log_likelihood")
    game.walk(order, tolerance=0.1)
    found, _ = game.walk(order)
    expected, _ = make_game(None, utility="log_likelihood").walk(order)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_games_differ_in_whatever_changes_utilities(tmp_path):
    rng = np.random.default_rng(105)
    X, y = rng.standard_normal((50, 3)), rng.integers(2, size=50)
    parts = [X[:30], y[:30], X[30:], y[30:]]
    LogisticGame(*parts, 2, cache=tmp_path).utilities(subsets())
    for change in range(4):
        changed = [part.copy() for part in parts]
        changed[change][0] = 1 - changed[change][0]
        LogisticGame(*changed, 2, cache=tmp_path).utilities(subsets())
    LogisticGame(*parts, 2, C=2.0, cache=tmp_path).utilities(subsets())
    LogisticGame(*parts, 3, cache=tmp_path).utilities(subsets())
    LogisticGame(*parts, 2, dtype="float32", cache=tmp_path).utilities(subsets())
    assert len(list(tmp_path.glob("*.sqlite"))) == 8


def test_game_key_sees_shapes_and_types():
    a = np.arange(6.0)
    keys = {game_key([a]), game_key([a.reshape(2, 3)]), game_key([a.view(np.int64)])}
    assert len(keys | {game_key([a[:3], a[3:]]), game_key([a], 1), game_key([a], "1")}) == 6
    assert game_key([a[::2]]) == game_key([a[::2].copy()])


def test_coalition_keys_are_of_the_weights_not_of_their_type():
    bits = subsets(n=13, count=20)
    assert coalition_keys(bits) == coalition_keys(bits.astype(int)) == coalition_keys(bits * 1.0)
    assert len(set(coalition_keys(np.unique(bits, axis=0)))) == len(np.unique(bits, axis=0))
    counts = np.array([[0, 2, 1], [0, 1, 1], [0, 2, 1], [0.5, 2, 1]])
    first, second, third, fourth = coalition_keys(counts)
    assert first == third
    assert len({first, second, fourth}) == 3
    assert second == coalition_keys(np.array([[False, True, True]]))[0]


def test_a_damaged_file_is_said_and_replaced(tmp_path):
    expected = make_game(tmp_path).utilities(subsets())
    (path,) = tmp_path.glob("*.sqlite")
    for damaged in (b"not a database, " * 500, path.read_bytes()[:4096] + b"\xff" * 4096):
        path.write_bytes(damaged)
        with pytest.warns(UserWarning, match="damaged .*; beginning a new one"):
            found = make_game(tmp_path).utilities(subsets())
        np.testing.assert_array_equal(found, expected)
        with sqlite3.connect(path) as connection:
            assert connection.execute("SELECT count(*) FROM scores").fetchone() == (50,)


def test_an_empty_file_is_filled(tmp_path):
    make_game(tmp_path).utilities(subsets())
    (path,) = tmp_path.glob("*.sqlite")
    path.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_game(tmp_path).utilities(subsets())
    assert path.stat().st_size > 0


def test_a_folder_that_cannot_be_used_is_said_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    game = make_game(tmp_path / "file" / "below")
    with pytest.warns(UserWarning, match="cannot be used .*; going on without") as said:
        found = game.utilities(subsets()), leave_one_out(game).values
    assert len(said) == 1
    np.testing.assert_array_equal(found[0], make_game(None).utilities(subsets()))


def test_a_locked_file_is_waited_for_and_then_left(tmp_path, monkeypatch):
    monkeypatch.setattr("nddv.coalitions.cache.BUSY_SECONDS", 0.05)
    game = make_game(tmp_path)
    game.utilities(subsets(count=3))
    (path,) = tmp_path.glob("*.sqlite")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.warns(UserWarning, match="locked"):
        found = game.utilities(subsets())
    other.close()
    np.testing.assert_array_equal(found, make_game(None).utilities(subsets()))


def test_nothing_is_made_before_something_is_stored(tmp_path):
    cache = ScoreCache(tmp_path / "later", "game")
    assert np.isnan(cache.lookup([b"one", b"two"])).all()
    assert not (tmp_path / "later").exists()


def test_default_folder_is_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "coalitions"


def _use_at_once(folder, barrier, number, results):
    """Store and look up in many small steps, at the same time as others."""
    keys = [f"{i:016d}".encode() for i in range(400)]
    scores = np.column_stack([np.arange(400.0), -np.arange(400.0)])
    cache = ScoreCache(folder, "game")
    barrier.wait()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for first in range(0, 400, 10):
            # each begins at another place, so that all write the same rows at different times
            rows = (np.arange(first, first + 10) + 100 * number) % 400
            cache.store([keys[r] for r in rows], scores[rows])
            found = cache.lookup(keys)
            assert np.all((found == scores) | np.isnan(found))
            assert (found[rows] == scores[rows]).all()
    results.put((number, [str(w.message) for w in said], cache.lookup(keys).tolist()))


@pytest.mark.parametrize("damaged", [False, True])
def test_processes_share_a_file(tmp_path, damaged):
    if damaged:
        (tmp_path / "game.sqlite").write_bytes(b"not a database, " * 500)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=_use_at_once, args=(tmp_path, barrier, number, results))
        for number in range(3)
    ]
    for worker in workers:
        worker.start()
    answers = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    messages = [message for _, said, _ in answers for message in said]
    assert len(messages) == damaged  # one process replaces the file, and says so
    assert all("beginning a new one" in message for message in messages)
    for _, _, found in answers:
        np.testing.assert_array_equal(found, np.column_stack([np.arange(400), -np.arange(400)]))
