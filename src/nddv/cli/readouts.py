"""What the values of a readout mean for a task, in sentences for users of the command line."""

from __future__ import annotations

from nddv.dynamics.readouts import Readout, default_readout


def caution(task: str, readout: Readout) -> list[str]:
    """A warning, where low values do not mean bad rows.

    None where the readout is not for this task: the estimator refuses that.
    """
    if task in readout.low_is_bad or task not in readout.tasks:
        return []
    return [
        f"in {task} the readout {readout.name} is a sensitivity without a meaning of good or bad, "
        "so a low value does not mean a bad row; to look for bad rows use "
        f"--readout {default_readout(task).name}"
    ]


def low_values(task: str, readout: Readout) -> str:
    """A sentence or two on what a value says of a row, and what low values gather."""
    if task not in readout.low_is_bad:
        return (
            "It says how a row's loss answers to a stretch of the row's final state, not whether "
            "the row is right: bad rows may stand at either end of the list."
        )
    suspects = "mislabelled rows" if task == "classification" else "rows with a wrong target"
    return (
        f"It says {readout.says}: low values gather {suspects}, but also rare, hard and "
        "under-represented ones, so look before you delete."
    )
