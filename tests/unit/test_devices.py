"""A job that was granted no GPU sees none."""

import os

import pytest

from nddv.devices import hide_gpus_unless


@pytest.mark.parametrize(("granted", "seen"), [(0, ""), (1, "3")])
def test_gpus_are_hidden_from_who_was_granted_none(monkeypatch, granted, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    hide_gpus_unless(granted)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == seen
