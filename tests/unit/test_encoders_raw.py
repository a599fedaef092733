"""Encoders that leave items as they are: pixels, and numbers of words."""

from __future__ import annotations

import numpy as np
import pytest

from nddv.problems.encoders import embed
from nddv.problems.encoders.raw import MOST_WORDS, pixels, words


def test_pixels_stay_whole_numbers_colour_by_colour(tmp_path):
    pictures = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 3), dtype=np.uint8)
    rows = embed(pictures, pixels(None, "cpu", side=4), 48, tmp_path, progress=False)
    np.testing.assert_array_equal(rows.reshape(3, 3, 4, 4), pictures.transpose(0, 3, 1, 2))


def test_pictures_of_another_size_are_resized():
    grey = np.full((6, 9, 3), 77, dtype=np.uint8)
    np.testing.assert_array_equal(pixels(None, "cpu", side=4)([grey]), np.full((1, 48), 77))


def test_words_have_a_number_each_and_rows_are_filled_up(tmp_path):
    documents = ["These, of cats: these are the DOGS", "", "Cats " * 9]
    rows = embed(documents, words(None, "cpu", max_tokens=6), 6, tmp_path, progress=False)
    these, cats, again, dogs = rows[0, :4]  # short words say little, and are left out
    assert these == again
    assert len({these, cats, dogs}) == 3
    assert (rows[0, 4:] == 0).all()
    assert (rows[1] == 0).all()
    assert (rows[2] == cats).all()


def test_numbers_of_words_are_exact_in_half_precision(tmp_path):
    document = " ".join(f"word{i}" for i in range(5000))
    encode = words(None, "cpu", max_tokens=5000)
    rows = embed([document], encode, 5000, tmp_path, progress=False)
    np.testing.assert_array_equal(rows, encode([document]))
    assert rows.min() == 1
    assert rows.max() == MOST_WORDS - 1
    with pytest.raises(ValueError, match="vocabulary must be 2 to 2048"):
        words(None, "cpu", vocabulary=5000)
