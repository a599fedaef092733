"""Altered configurations: accepted, or refused in one line that names a place."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import fuzzed
from hypothesis import given, settings
from hypothesis import strategies as st

from nddv.problems.encoders import known_encoders
from nddv.reporting.claims import check_claims
from nddv.reporting.contents import find_table
from nddv.support.schemas import ConfigurationError, read_yaml
from nddv.workflow.configuration import check_configuration

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"
ALTERED, OTHERS, CLAIMED = 3400, 400, 200


def small_configuration():
    """The real one with few entries of every kind: a check takes a third of the time."""
    files = ("config", "datasets", "methods")
    whole = {key: part for f in files for key, part in read_yaml(ROOT / f"config/{f}.yaml").items()}
    whole["datasets"] = {
        name: whole["datasets"][name] for name in ("2dplanes", "electricity", "bbc")
    }
    own = {"source": "csv", "path": str(ROOT / "pyproject.toml"), "target": "y"}
    whole["datasets"]["mine"] = own
    whole["encoders"] = {"minilm": known_encoders()["minilm"]}
    whole["datasets"]["bbc"]["sources"] = [
        one for one in whole["datasets"]["bbc"]["sources"] if one.get("encoder") in (None, "minilm")
    ][:2]
    for name in ("recent_methods", "adult_weights"):
        del whole["experiments"][name]
    whole["problems"] = whole["problems"][:2]
    methods = ["nddv-path", "nddv-path:control=mlp", "loo"]
    for entry in whole["experiments"].values():
        entry["grids"] = [
            {"datasets": ["2dplanes"], "n": [1000], "corruptions": ["label10"], "methods": methods}
        ]
    compared = [whole["audits"][part] for part in ("marginals", "retraining", "bridge")]
    for part in (*compared, whole["semivalues"], *whole["modules"]["trained"].values()):
        part["datasets"] = ["2dplanes", "bbc@minilm"]
    for table in whole["timings"]["tables"].values():
        table[0]["methods"] = ["nddv-path", "odv:KNNShapley"]
    whole["methods"] = methods
    return whole


def copied(content):
    """A copy in which nothing is shared, as aliases of YAML are: an alteration is in one place."""
    if isinstance(content, dict):
        return {key: copied(one) for key, one in content.items()}
    return [copied(one) for one in content] if isinstance(content, list) else content


WHOLE = small_configuration()
CLAIMS = ROOT / "config" / "claims.yaml"
SOME_CLAIMS = {"claims": read_yaml(CLAIMS)["claims"][:4]}


def columns(name):
    return find_table({}, name).columns


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, 1, -1, 10**400, 1e308, float("nan"), float("inf"), 0.5, 60.0]),
    st.floats(),
    st.sampled_from(
        ["", "x", "nddv-path", "label10", "2dplanes", "1e3", "a: b", "é\n", "@", "x" * 999]
    ),
    st.text(max_size=6),
    st.dates(),
    st.binary(max_size=3),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(st.text(max_size=4), SCALARS, max_size=2),
    st.just([[[[]]]]),
    st.sampled_from([(), {1: 2}, {None: {}}, {(): 1}, object(), {"a": {"b": {}}}]),
)


@st.composite
def altered(draw, read):
    """A tree in which something was renamed, removed, doubled or replaced, once to three times."""
    tree = copied(read())
    for _ in range(draw(st.integers(1, 3))):
        # down from the top at random, so that no part is altered more often for being large
        place = tree
        while draw(st.integers(0, 5)):
            inner = place.values() if isinstance(place, dict) else place
            below = [one for one in inner if isinstance(one, dict | list) and one]
            if not below:
                break
            place = draw(st.sampled_from(range(len(below))).map(below.__getitem__))
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        kind = draw(
            st.sampled_from(["replace", "replace", "remove", "rename", "double", "letters"])
        )
        if kind == "replace":
            place[key] = copied(draw(VALUES))
        elif kind == "remove":
            del place[key]
            if not place:
                break
        elif kind == "double":
            if isinstance(place, list):
                place.append(copied(place[key]))
            else:
                place[f"{key}{draw(st.sampled_from('s2_'))}"] = copied(place[key])
        elif isinstance(place, dict):
            place[misspelt(draw, str(key))] = place.pop(key)
        elif isinstance(place[key], str):
            place[key] = misspelt(draw, place[key])
    return tree


def misspelt(draw, word):
    """A word with a letter lost, doubled, changed or in another case."""
    at = draw(st.integers(0, max(len(word) - 1, 0)))
    letter = word[at : at + 1]
    other = draw(st.sampled_from(["", letter * 2, "x", letter.upper(), " ", "\n", "."]))
    return word[:at] + other + word[at + 1 :]


def test_without_an_alteration_it_is_accepted():
    check_configuration(WHOLE, ROOT)


@pytest.mark.slow
@settings(**fuzzed(ALTERED))
@given(config=altered(lambda: WHOLE))
def test_a_configuration_is_accepted_or_refused_in_one_line(says_why, config):
    try:
        check_configuration(config, ROOT)
    except ConfigurationError as error:
        refused = error
    else:
        return
    says_why(refused)
    where, _, what = str(refused).partition(": ")
    assert where
    assert len(what) > 5


@settings(**fuzzed(OTHERS))
@given(config=VALUES)
def test_what_is_no_configuration_is_refused(says_why, config):
    with pytest.raises(ConfigurationError) as caught:
        check_configuration(config, ROOT)
    says_why(caught.value)


@settings(**fuzzed(CLAIMED))
@given(content=altered(lambda: SOME_CLAIMS))
def test_claims_are_accepted_or_refused_in_one_line(says_why, monkeypatch, content):
    monkeypatch.setattr("nddv.reporting.claims.read_yaml", lambda path: content)
    try:
        check_claims(CLAIMS, SCHEMAS / "claims.schema.yaml", WHOLE["datasets"], columns)
    except ConfigurationError as error:
        refused = error
    else:
        return
    says_why(refused)
    assert str(refused).startswith(f"{CLAIMS}: ")
