"""The figures of the report: the entries of ``figures.yaml``, and one for each check of theory."""

from __future__ import annotations

from nddv.reporting.catalogue.files import read
from nddv.reporting.registry import Figure

_STABILITY = {
    "contraction": "Distances of states to each other and to their group under the flow.",
    "score_gap_transfer": "Gaps between groups against the strength of interaction.",
    "frozen_aggregate": "The error of a frozen aggregate against the number of points.",
    "discretisation": "The error of scores against time step and number of trajectories.",
    "stationarity": "Mean squared gradients of the weight update against its steps.",
}

FIGURES: dict[str, Figure] = {
    name: Figure(name=name, **entry) for name, entry in read("figures.yaml").items()
} | {
    f"stability_{check}": Figure(
        name=f"stability_{check}",
        title=f"A check of the theory: {check.replace('_', ' ')}",
        caption=f"{what} Lines are what the theory says, points what was measured.",
        part="audits",
        function=f"nddv.reporting.figures.stability:{check}",
        reads={"frame": f"stability:{check}"},
    )
    for check, what in _STABILITY.items()
}
