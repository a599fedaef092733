"""The settings of NDDV, each once: name, kind, default, meaning.

`nddv.NDDV` inherits them, with the signature that they make. Its checks and its docstring, the
schema of the configuration and the table in the documentation are derived from `SETTINGS`.
Needs the standard library only: the Snakefile reads it inside Snakemake's own environment.
"""

# ruff: noqa: RUF009  (`setting` makes the field of a dataclass)

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import nddv.dynamics.choices as names
from nddv.support.settings import (
    Count,
    Flag,
    Name,
    NotNegative,
    Positive,
    Precision,
    choice,
    either,
    number,
    setting,
    settings_of,
    whole,
)

TASKS = ("classification", "regression")


@dataclass(repr=False, eq=False)
class Settings:
    """What a fit of NDDV depends on besides its data."""

    readout: Name = setting("path", "how the run becomes values", configurable=False)
    task: Annotated[str, choice("auto", *TASKS)] = setting(
        "auto", '"auto": regression for targets with fractions', configurable=False
    )
    _: KW_ONLY

    # the flow: X' = X + [a(μ − X) + ψ(X)]Δt + σ ΔW on S Euler steps
    input_energy: Positive = setting(40.0, "mean squared norm that standardised rows are scaled to")
    width: Count = setting(32, "dimension W of the state")
    steps: Count = setting(3, "Euler steps S")
    horizon: Positive = setting(1.0, "time horizon T")
    interaction: NotNegative = setting(1.0, "mean-field strength a (Eq. lq_drift)")
    diffusion: NotNegative = setting(0.01, "diffusion scale σ (Eq. lq_drift)")
    running_cost: NotNegative = setting(0.01, "weight ρ of the running cost ρ/2 ‖ψ_s(X)‖²")
    control: Annotated[str, choice(*names.CONTROLS)] = setting(
        "kan", "the network ψ_s of each Euler step (feedback), or a vector (open_loop)"
    )
    hidden: Count = setting(25, "hidden width of the control")
    centers: Annotated[int, whole(2)] = setting(8, "Matérn bases of a KAN layer")
    reach: Positive = setting(2.0, "the bases lie on [−reach, reach]")
    nu: Annotated[float, choice(*names.SMOOTHNESS)] = setting(1.5, "smoothness ν of the bases")

    # its training
    epochs: Count = setting(20, "passes through the training points")
    batch_size: Count = setting(64, "points that move together in a training step")
    max_steps: Count = setting(5000, "training steps at most: with more points the batches grow")
    block_size: Annotated[int | str, either(whole(), "auto")] = setting(
        "auto",
        'rows that stay together when they are shuffled; "auto": 1 for data in memory, 256 for '
        "rows on disk (`nddv.open_rows`), which are then read in contiguous pieces",
    )
    optimizer: Annotated[str, choice(*names.OPTIMIZERS)] = setting(
        "sgd", "the optimiser, with decoupled weight decay"
    )
    learning_rate: Positive = setting(0.05, "learning rate at the start of the schedule")
    schedule: Annotated[str, choice(*names.SCHEDULES)] = setting(
        "linear", "decay of the learning rate, to zero"
    )
    weight_decay: NotNegative = setting(0.1, "decoupled weight decay")
    momentum: Annotated[float, number(0.0, below=1.0)] = setting(
        0.9, "momentum, or Adam's first beta"
    )
    epsilon: Positive = setting(1e-4, "ε under the root of AdamW")
    clip: Annotated[float, number(above=0.0, most=1e30)] = setting(
        1.0, "limit of the gradient norm"
    )
    pairing: Annotated[str, choice(*names.PAIRINGS)] = setting(
        "exact", "co-state of the control gradient: Y_{s+1}, or Y_s as Algorithm 1 prints it"
    )

    # the meta weights
    reweighting: Annotated[str, choice(*names.REWEIGHTINGS)] = setting(
        "lookahead", "how the weight map is updated; none: all weights are 1"
    )
    meta_every: Count = setting(10, "training steps between two updates of the weight map")
    meta_batch_size: Count = setting(64, "meta points that an update looks at")
    meta_hidden: Count = setting(16, "hidden width of the weight map")
    meta_learning_rate: Positive = setting(0.01, "Adam's learning rate of the weight map")
    penalty: Positive = setting(10.0, 'weight of the surrogate of reweighting="penalty"')
    meta_fraction: Annotated[float, number(above=0.0, most=0.5)] = setting(
        0.2, "part of the training points that is held out in turn when no meta data are given"
    )

    # how it is read out and run
    trajectories: Count = setting(
        1, "independent scoring paths M_traj; with 2 or more there is `stderr_`"
    )
    layer_trace: Flag = setting(
        False, "keep the time-resolved scores of every epoch as `trace_`, (epochs, steps + 1, n)"
    )
    checkpoints: Annotated[str, choice("auto", "all", "sqrt")] = setting(
        "auto",
        'training states that are kept for readouts that replay the run: "all", "sqrt" (O(√K) '
        'states, one more forward run), or "auto": "all" for such a readout while they fit half '
        'a gigabyte, else "sqrt"',
    )
    dtype: Precision = setting("float32", "floating-point type of the run")
    random_state: Annotated[int | None, either(whole(0, 2**63 - 1), None)] = setting(
        0, "seed; None: fresh entropy, which `record_` tells", configurable=False
    )
    device: Annotated[str, choice("auto", "cpu", "cuda")] = setting(
        "auto", '"auto": a GPU where there is one', configurable=False
    )
    progress: Flag = setting(False, "show a progress bar on stderr", configurable=False)


SETTINGS = settings_of(Settings)


def check_settings(settings: Settings) -> None:
    """Raise for a setting that cannot be, whatever the data are."""
    # imported here, so that a new title in the registry is no change of what computes values
    from nddv.dynamics.readouts import get_readout

    for name, own in SETTINGS.items():
        own.kind.check(name, getattr(settings, name))
    get_readout(settings.readout)
