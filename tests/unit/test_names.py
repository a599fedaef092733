"""Looking things up by name."""

import pytest

from nddv.support.wording import pick

CHOICES = {"news": 1, "planes": 2}


def test_an_unknown_name_is_listed_or_guessed():
    assert pick(CHOICES, "news", "data set") == 1
    with pytest.raises(ValueError, match="unknown data set 'q'; known"):
        pick(CHOICES, "q", "data set")
    with pytest.raises(ValueError, match="unknown data set 'plane'; did you mean 'planes'"):
        pick(CHOICES, "plane", "data set")
