"""The kinds of settings: what fits, what is refused, and the same as JSON Schema."""

from __future__ import annotations

import json
import math
from typing import get_args

import jsonschema
import numpy as np
import pytest

from nddv.estimator.settings import SETTINGS
from nddv.support.settings import (
    Count,
    Flag,
    NotNegative,
    Positive,
    Setting,
    Share,
    choice,
    either,
    number,
    whole,
)

KINDS = {
    "count": get_args(Count)[1],
    "positive": get_args(Positive)[1],
    "not negative": get_args(NotNegative)[1],
    "share": get_args(Share)[1],
    "flag": get_args(Flag)[1],
    "words": choice("a", "b"),
    "numbers": choice(0.5, 1.5, math.inf),
    "whole": whole(2, 5),
    "number": number(-1, most=2.5),
    "either": either(whole(), "auto"),
    "or none": either(whole(0), None),
}
FITTING = {
    "count": [1, 10**6, np.int64(3)],
    "positive": [1e-300, 1, 1e30, np.float32(0.5), 10**30],
    "not negative": [0, 0.0, 2.5],
    "share": [1e-9, 0.999],
    "flag": [True, False, np.bool_(True)],
    "words": ["a", np.str_("b")],
    "numbers": [0.5, 1.5, math.inf, np.inf],
    "whole": [2, 5],
    "number": [-1, 2.5],
    "either": [1, "auto"],
    "or none": [0, None],
}
REFUSED = {
    "count": [0, -1, 1.0, 10**6 + 1, True, "1", None, [1], np.zeros(3)],
    "positive": [0, -1.0, math.nan, math.inf, 10**400, "1", None, True, 1j, np.ones(1)],
    "not negative": [-1e-300, math.nan, False],
    "share": [0, 1, 1.5],
    "flag": ["yes", None, 2, []],
    "words": ["c", "", None, b"a", np.array("a"), ["a"], np.array(["a", "b"])],
    "numbers": [1, math.nan, "inf", []],
    "whole": [1, 6],
    "number": [-1.1, 2.6],
    "either": [0, "other", None],
    "or none": [-1, "none"],
}


@pytest.mark.parametrize("name", KINDS)
def test_what_fits_is_taken_and_all_else_is_refused_in_words(name):
    kind = KINDS[name]
    for value in FITTING[name]:
        kind.check("it", value)
    for value in REFUSED[name]:
        with pytest.raises(ValueError, match="^it must be ") as caught:
            kind.check("it", value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200


def test_a_number_too_long_to_print_is_refused():
    with pytest.raises(ValueError, match="it must be a positive integer.*something of type int"):
        KINDS["count"].check("it", 10**5000)


@pytest.mark.parametrize("name", KINDS)
def test_the_schema_says_the_same(name):
    kind = KINDS[name]

    def in_schema(value):
        try:
            jsonschema.validate(value, dict(kind.schema))
        except jsonschema.ValidationError:
            return False
        return True

    def of_json(values):
        plain = [v.item() if isinstance(v, np.generic) else v for v in values]
        return [v for v in plain if v is None or type(v) in (bool, int, float, str)]

    assert all(map(in_schema, of_json(FITTING[name])))
    # JSON Schema takes 1.0 for an integer; that NaN is not a number it does not see
    refused = [v for v in of_json(REFUSED[name]) if v == v and v != 1.0]
    assert not any(map(in_schema, refused))


def test_settings_of_the_estimator_are_complete():
    for name, setting in SETTINGS.items():
        assert setting.name == name
        assert setting.meaning
        assert not setting.meaning.endswith(".")
        json.dumps(setting.kind.schema)
    fixed = {name for name, setting in SETTINGS.items() if not setting.configurable}
    assert fixed == {"readout", "task", "random_state", "device", "progress"}


def test_a_default_is_told_for_each_named_set_of_settings():
    plain, kind = Setting("epochs", 20, whole(), "passes"), either(whole(), "auto")
    assert plain.usual == "20"
    named = Setting("members", "auto", kind, "runs", named={"default": 8, "paper": 1})
    assert named.usual == "8 (paper: 1)"
    assert [named.value(name) for name in ("default", "paper", "other")] == [8, 1, 8]
    assert plain.value("paper") == 20
    words = Setting("rule", "auto", kind, "a rule", named={"default": "a", "paper": "b"})
    assert words.usual == "'a' (paper: 'b')"
    assert SETTINGS["width"].usual == repr(SETTINGS["width"].default)
    assert SETTINGS["reweighting"].usual == "'self' (paper: 'lookahead')"
