"""Stored utilities: shared between games and processes, and never trusted when damaged."""

from __future__ import annotations

import multiprocessing
import sqlite3
import warnings

import numpy as np
import pytest
import torch

from nddv.baselines.leave_one_out import leave_one_out
from nddv.coalitions import Engine, LogisticGame
from nddv.coalitions.cache import ScoreCache, content_key, default_folder


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
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.utilities(subsets()), accuracy[0])
    np.testing.assert_array_equal(leave_one_out(first).values, accuracy[1])


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("n_classes", [2, 3])
def test_interruptions_and_what_others_have_stored_change_no_digit(
    tmp_path, monkeypatch, n_classes
):
    """The bytes are those without a cache, wherever a run was interrupted, and how often."""
    monkeypatch.setattr("nddv.coalitions.logistic.STRIDE", 7)
    monkeypatch.setattr("nddv.coalitions.logistic.STORED_TOGETHER", 16)
    rng = np.random.default_rng(107)
    X, y = rng.standard_normal((70, 3)), rng.integers(n_classes, size=70)
    orders = np.array([rng.permutation(30) for _ in range(4)])

    def play(cache):
        parts = X[:30], y[:30], X[30:], y[30:]
        return LogisticGame(*parts, n_classes, utility="log_likelihood", cache=cache)

    def audit(cache):
        game = play(cache)
        parts = game.walk(orders)[0], game.utilities(subsets()), leave_one_out(game).values
        return b"".join(part.tobytes() for part in parts), game.fitted

    expected, in_all = audit(None)
    # of another rule that was here before: some of the same coalitions, in other company
    play(tmp_path).utilities(subsets()[5:40:2])
    play(tmp_path).walk(orders[:2], tolerance=0.1)
    play(tmp_path).walk(np.roll(orders, 1, axis=1))

    fit = Engine.fit
    interruptions = 0
    for fits_until in (2, 3, 4, 5, 6, 7, 8, 9, None):
        left = [fits_until]

        def fit_or_die(self, weights, start=None, left=left):
            if left[0] is not None:
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
            return fit(self, weights, start)

        monkeypatch.setattr(Engine, "fit", fit_or_die)
        try:
            found, fitted = audit(tmp_path)
        except Killed:
            interruptions += 1
    assert interruptions >= 4
    assert found == expected
    assert fitted < in_all


def test_only_unknown_blocks_are_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr("nddv.coalitions.logistic.STORED_TOGETHER", 20)
    game = make_game(tmp_path)
    game.utilities(subsets(count=20))
    before = game.fitted
    more = subsets(count=45)
    found = game.utilities(more)
    assert game.fitted == before + 25
    np.testing.assert_array_equal(found, make_game(None).utilities(more))


def test_a_walk_that_was_truncated_is_fitted_again_when_more_of_it_is_wanted(tmp_path, no_fits):
    order = np.random.default_rng(104).permutation(30)[None]
    game = make_game(tmp_path, utility="log_likelihood")
    short, evaluated = game.walk(order, tolerance=0.1)
    assert evaluated[0] < 29
    found, _ = game.walk(order)
    expected, _ = make_game(None, utility="log_likelihood").walk(order)
    np.testing.assert_array_equal(found, expected)
    no_fits()
    np.testing.assert_array_equal(game.walk(order)[0], expected)
    np.testing.assert_array_equal(game.walk(order, tolerance=0.1)[0], short)


def test_a_block_divided_among_more_threads_is_another(tmp_path):
    """The engine divides it, and the last digits follow from how."""
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found = make_game(tmp_path, utility="log_likelihood").utilities(subsets())
            expected = make_game(None, utility="log_likelihood").utilities(subsets())
            np.testing.assert_array_equal(found, expected)
    finally:
        torch.set_num_threads(before)


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


def test_content_key_sees_shapes_and_types():
    a = np.arange(6.0)
    keys = {content_key([a]), content_key([a.reshape(2, 3)]), content_key([a.view(np.int64)])}
    keys |= {content_key([a[:3], a[3:]]), content_key([a], 1), content_key([a], "1")}
    assert len(keys) == 6
    assert content_key([a[::2]]) == content_key([a[::2].copy()])


def flip_a_bit_of_a_score(path):
    """One that SQLite itself cannot notice."""
    with sqlite3.connect(path) as connection:
        (scores,) = connection.execute("SELECT scores FROM blocks").fetchone()
    content = path.read_bytes()
    place = content.index(scores[-64:])
    changed = bytes([content[place] ^ 1])
    path.write_bytes(content[:place] + changed + content[place + 1 :])
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"not a database, " * 500),
        lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 4096),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        flip_a_bit_of_a_score,
    ],
    ids=["foreign", "overwritten", "cut", "one bit"],
)
def test_a_damaged_file_is_said_and_replaced(tmp_path, damage):
    weights = subsets(count=2000)
    expected = make_game(tmp_path).utilities(weights)
    (path,) = tmp_path.glob("*.sqlite")
    damage(path)
    with pytest.warns(UserWarning, match=f"{path.name}: damaged .*; beginning a new one"):
        found = make_game(tmp_path).utilities(weights)
    np.testing.assert_array_equal(found, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(make_game(tmp_path).utilities(weights), expected)


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


def test_a_folder_in_place_of_the_file_is_said_and_left(tmp_path):
    expected = make_game(tmp_path).utilities(subsets())
    (path,) = tmp_path.glob("*.sqlite")
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match=f"{path.name}: cannot be used .*; going on without"):
        found = make_game(tmp_path).utilities(subsets())
    np.testing.assert_array_equal(found, expected)


def test_nothing_is_made_before_something_is_stored(tmp_path):
    cache = ScoreCache(tmp_path / "later", b"game")
    assert cache.lookup(b"one") is None
    assert not (tmp_path / "later").exists()


def test_default_folder_is_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NDDV_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "coalitions"


def _use_at_once(folder, barrier, number, results):
    """Store and look up in many small steps, at the same time as others."""
    keys = [f"{i:016d}".encode() for i in range(40)]
    scores = [np.array([[i, -i, i / 7], [i + 1, i / 3, 0]]) for i in range(40)]
    cache = ScoreCache(folder, b"game")
    barrier.wait()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for step in range(40):
            # each begins at another place, so that all write the same rows at different times
            mine = (step + 10 * number) % 40
            cache.store(keys[mine], scores[mine])
            for i, key in enumerate(keys):
                found = cache.lookup(key)
                assert i != mine or found is not None
                assert found is None or (found == scores[i]).all()
    results.put((number, [str(w.message) for w in said], [cache.lookup(k).tolist() for k in keys]))


@pytest.mark.parametrize("damaged", [False, True])
def test_processes_share_a_file(tmp_path, damaged):
    if damaged:
        (tmp_path / f"{b'game'.hex()}.sqlite").write_bytes(b"not a database, " * 500)
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
        assert found == [[[i, -i, i / 7], [i + 1, i / 3, 0]] for i in range(40)]
