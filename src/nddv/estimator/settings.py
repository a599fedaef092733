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
    SMOOTH_UTILITIES,
    Count,
    Flag,
    Kind,
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
AUTO = "auto"
CONFIGURATIONS = ("default", "regression", "paper")
"""The named configurations: the library's detector of wrong labels, the same trained for longer to
find wrong targets, and the paper's Algorithm 1 as printed."""


def _auto(kind: Kind) -> Kind:
    """A kind of setting, or "auto": what the configuration says."""
    return either(kind, AUTO)


@dataclass(repr=False, eq=False)
class Settings:
    """What a fit of NDDV depends on besides its data."""

    readout: Name = setting("path", "how the run becomes values", configurable=False)
    task: Annotated[str, choice("auto", *TASKS)] = setting(
        "auto", '"auto": regression for targets with fractions', configurable=False
    )
    _: KW_ONLY
    configuration: Annotated[str, choice(AUTO, *CONFIGURATIONS)] = setting(
        AUTO,
        'what the settings at "auto" stand for. "default": members that are trained together, for '
        'finding wrong labels; "regression": the same for wrong targets, with more training; '
        '"paper": one run of Algorithm 1, as printed; "auto": what the readout is made for',
    )

    # the flow: X' = X + [a(μ − X) + ψ(X)]Δt + σ ΔW on S Euler steps
    input_energy: Positive = setting(40.0, "mean squared norm that the inputs are scaled to")
    inputs: Annotated[str, choice(AUTO, *names.INPUTS)] = setting(
        AUTO,
        "plain: standardised features. encoded: far values are cut, rare categories weigh less, "
        "and features of several values have a piecewise-linear encoding beside them where rows "
        "allow",
        default="encoded",
        paper="plain",
    )
    width: Count = setting(32, "dimension W of the state")
    steps: Annotated[int | str, _auto(whole())] = setting(AUTO, "Euler steps S", default=2, paper=3)
    horizon: Positive = setting(1.0, "time horizon T")
    interaction: NotNegative = setting(1.0, "mean-field strength a (Eq. lq_drift)")
    diffusion: NotNegative = setting(0.01, "diffusion scale σ (Eq. lq_drift)")
    running_cost: Annotated[float | str, _auto(number())] = setting(
        AUTO,
        "weight ρ of the running cost ρ/2 ‖ψ_s(X)‖²",
        default=0.0,
        regression=0.01,
        paper=0.01,
    )
    control: Annotated[str, choice(*names.CONTROLS)] = setting(
        "kan", "the network ψ_s of each Euler step (feedback), or a vector (open_loop)"
    )
    hidden: Annotated[int | str, _auto(whole())] = setting(
        AUTO, "hidden width of the control", default=16, paper=25
    )
    centers: Annotated[int | str, _auto(whole(2))] = setting(
        AUTO, "Matérn bases of a KAN layer: more of them bend more sharply", default=6, paper=8
    )
    reach: Positive = setting(2.0, "the bases lie on [−reach, reach]")
    nu: Annotated[float, choice(*names.SMOOTHNESS)] = setting(1.5, "smoothness ν of the bases")

    # its training
    members: Annotated[int | str, _auto(whole(1, 256))] = setting(
        AUTO,
        "runs that are trained together on the same batches, with other initial parameters and "
        "noise; their mean is read out, and their spread gives `stderr_`",
        default=8,
        paper=1,
    )
    epochs: Annotated[int | str, _auto(whole())] = setting(
        AUTO, "passes through the training points", default=20, regression=60, paper=20
    )
    batch_size: Count = setting(64, "points that move together in a training step")
    max_steps: Annotated[int | str, _auto(whole())] = setting(
        AUTO,
        "training steps at most: with more points the batches grow",
        default=1000,
        regression=5000,
        paper=5000,
    )
    max_visits: Annotated[int | str, _auto(whole(1, 10**12))] = setting(
        AUTO,
        "looks at points at most, n × epochs × members: with more points there are fewer members, "
        "and then fewer epochs",
        default=800_000,
        regression=16_000_000,
        paper=16_000_000,
    )
    block_size: Annotated[int | str, either(whole(), "auto")] = setting(
        "auto",
        'rows that stay together when they are shuffled; "auto": 1 for data in memory, 256 for '
        "rows on disk (`nddv.open_rows`), which are then read in contiguous pieces",
    )
    optimizer: Annotated[str, choice(*names.OPTIMIZERS)] = setting(
        "sgd", "the optimiser, with decoupled weight decay"
    )
    learning_rate: Annotated[float | str, _auto(number(above=0.0))] = setting(
        AUTO,
        "learning rate at the start of the schedule",
        default=0.3,
        regression=0.15,
        paper=0.05,
    )
    schedule: Annotated[str, choice(*names.SCHEDULES)] = setting(
        "linear", "decay of the learning rate, to zero"
    )
    weight_decay: Annotated[float | str, _auto(number())] = setting(
        AUTO,
        "decoupled weight decay of a whole run: a step has this over the number of steps",
        default=12.0,
        regression=2.0,
        paper=32.0,
    )
    momentum: Annotated[float, number(0.0, below=1.0)] = setting(
        0.9, "momentum, or Adam's first beta"
    )
    epsilon: Positive = setting(1e-4, "ε under the root of AdamW")
    clip: Annotated[float, number(above=0.0, most=1e30)] = setting(
        1.0, "limit of the gradient norm"
    )
    pairing: Annotated[str, choice(AUTO, *names.PAIRINGS)] = setting(
        AUTO,
        "co-state of the control gradient: Y_{s+1} (exact), or Y_s as Algorithm 1 prints it",
        default="exact",
        paper="literal",
    )

    # the weights of points
    reweighting: Annotated[str, choice(AUTO, *names.REWEIGHTINGS)] = setting(
        AUTO,
        "self: where there are fewer than 20 rows a feature, points whose label the members find "
        "unlikely count less in the cost; lookahead, penalty: meta weights v_i, learned on meta "
        "data; none: all weights are 1",
        default="self",
        paper="lookahead",
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
    utility: Annotated[str, choice(AUTO, *SMOOTH_UTILITIES)] = setting(
        AUTO,
        "what readouts that replay the run derive, a mean over the validation data: the logarithm "
        "of the probability of the label (in regression minus half the squared error), or the "
        'probability itself; "auto": what the readout is made for',
    )
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
    for name, own in SETTINGS.items():
        own.kind.check(name, getattr(settings, name))


def resolved(settings: Settings) -> Settings:
    """The settings with what "auto" stands for in their configuration; they are checked first."""
    # imported here, so that a new title in the registry is no change of what computes values
    from nddv.dynamics.readouts import get_readout

    check_settings(settings)
    readout, configuration = get_readout(settings.readout), settings.configuration
    if configuration == AUTO:
        configuration = readout.configuration
    chosen = {name: getattr(settings, name) for name in SETTINGS}
    chosen |= {
        name: own.value(configuration)
        for name, own in SETTINGS.items()
        if own.named and chosen[name] == AUTO
    }
    return Settings(**{**chosen, "configuration": configuration})
