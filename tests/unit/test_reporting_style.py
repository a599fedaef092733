"""Looks of methods are told apart, and readouts look as their registry says."""

from __future__ import annotations

from nddv.dynamics.readouts import READOUTS
from nddv.methods.registry import METHODS
from nddv.reporting.figures.style import OF_READOUTS, looks_of


def test_readouts_have_the_look_of_their_entry():
    for name, readout in READOUTS.items():
        look = OF_READOUTS[f"nddv-{name}"]
        assert (look.colour, look.style, look.marker) == (
            readout.colour,
            readout.style,
            readout.marker,
        )


def test_all_methods_are_told_apart_by_line_and_by_marker():
    looks = looks_of(METHODS)
    assert set(looks) == set(METHODS)
    assert len({(look.colour, look.style) for look in looks.values()}) == len(METHODS)
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(METHODS)


def test_of_many_methods_only_those_that_stand_out_have_a_look():
    many = ["loo", "dvrl", "nddv-path", "small-loss"]
    assert list(looks_of(many, most=3)) == ["nddv-path", "small-loss"]
    few = looks_of(many, most=4)
    assert set(few) == set(many)
    assert len({look.colour for look in few.values()}) == len(many)
