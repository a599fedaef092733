"""Chunks on several threads: the same results, and torch as it was."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
import torch

from nddv.baselines.leave_one_out import leave_one_out
from nddv.coalitions import LogisticGame
from nddv.coalitions.threads import apply, workers


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_torch_has_its_threads_again(two_threads):
    with workers("cpu") as threads:
        assert threads == 2
        assert torch.get_num_threads() == 1
        with workers("cpu") as inside:
            assert inside == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ZeroDivisionError), workers("cpu") as threads:
        apply(lambda number: 1 / number, [1, 0], threads)
    assert torch.get_num_threads() == 2


def test_other_devices_have_one_worker(two_threads):
    with workers("cuda") as threads:
        assert threads == 1


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("leaves_first", [0, 1])
def test_threads_of_a_caller_may_overlap(two_threads, leaves_first, known):
    """Each thread of the caller has torch's number again, also one that torch did not know."""
    with ExitStack() as stack:
        callers = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(2)]
        if known:
            assert [caller.submit(torch.get_num_threads).result() for caller in callers] == [2, 2]
        for _ in range(2):  # what is left behind by the first time would be found by the second
            uses = [workers("cpu"), workers("cpu")]
            for caller, use in zip(callers, uses, strict=True):
                assert caller.submit(use.__enter__).result() == 2
                assert caller.submit(torch.get_num_threads).result() == 1
            for i in (leaves_first, 1 - leaves_first):
                callers[i].submit(uses[i].__exit__, None, None, None).result()
            callers.append(stack.enter_context(ThreadPoolExecutor(1)))
            found = [caller.submit(torch.get_num_threads).result() for caller in callers]
            assert found == [2] * len(callers)
            callers.pop()
    assert torch.get_num_threads() == 2


def test_results_are_in_order_and_work_is_shared(two_threads):
    meeting = threading.Barrier(2, timeout=20)

    def meet(number):
        meeting.wait()  # broken unless two threads come
        with workers("cpu") as inside:
            assert inside == 1
        return number, torch.get_num_threads()

    with workers("cpu"):
        assert apply(meet, range(10), threads=2) == [(number, 1) for number in range(10)]


def test_threads_change_no_utility(two_threads, tmp_path):
    rng = np.random.default_rng(100)
    X, y = rng.standard_normal((300, 4)), rng.integers(3, size=300)
    parts = (X[:200], y[:200], X[200:], y[200:], 3)
    weights = rng.random((300, 200)) < 0.5
    orders = np.array([rng.permutation(200) for _ in range(4)])
    found = []
    for threads, cache in ((1, None), (2, None), (2, tmp_path)):
        torch.set_num_threads(threads)
        game = LogisticGame(*parts, utility="log_likelihood", cache=cache)
        found.append([game.utilities(weights), leave_one_out(game).values, game.walk(orders)[0]])
    for one, two, stored in zip(*found, strict=True):
        np.testing.assert_allclose(two, one, atol=1e-6)
        np.testing.assert_allclose(stored, one, atol=1e-6)


def test_alone_nothing_is_handed_to_another_thread():
    here = threading.get_ident()
    assert apply(lambda _: threading.get_ident(), range(3), threads=1) == [here] * 3
    assert apply(lambda _: threading.get_ident(), [0], threads=2) == [here]
