"""What the readouts mean for a task, in words, and which one to take."""

from __future__ import annotations

DEFAULTS = {"classification": "path", "regression": "participation"}

MEANINGS = {
    "path": "the sensitivity of the terminal loss to each row, standardised at every epoch and "
    "averaged over training up to the epoch that the meta score chooses",
    "terminal": "the paper's score: the sensitivity of the terminal loss to each row at the end "
    "of training",
    "participation": "the derivative of the utility on the validation data with respect to each "
    "row's weight in this very training run",
}

CAUTION = (
    "in regression the readout {readout} is a sensitivity without a meaning of good or bad, so a "
    "low value does not mean a bad row; to look for bad rows use --readout participation"
)


def is_ordered(task: str, readout: str) -> bool:
    """Whether higher is better.

    The radial scores, path and terminal, follow the loss only where it is monotone along the state:
    in classification.
    """
    return task == "classification" or readout == "participation"


def low_values(task: str, readout: str) -> str:
    """A sentence or two on what a value says of a row, and what low values gather."""
    if not is_ordered(task, readout):
        return (
            "It says how a row's loss answers to a stretch of the row's final state, not whether "
            "the row is right: bad rows may stand at either end of the list."
        )
    if readout == "participation":
        says = (
            "It says whether more weight on a row would have helped or harmed on the validation "
            "data, compared with the mean row"
        )
    else:
        says = "It says how a row fits what the others teach"
    suspects = "mislabelled rows" if task == "classification" else "rows with a wrong target"
    return (
        f"{says}: low values gather {suspects}, but also rare, hard and under-represented ones, "
        "so look before you delete."
    )
