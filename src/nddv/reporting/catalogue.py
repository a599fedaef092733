"""The registry of figures: what each is called, says, and is drawn by.

A new figure is one function that takes data frames and gives a matplotlib ``Figure``, one entry
here, and the files it reads in ``workflow/rules/figures_common.smk``. The functions are named, not
imported: the Snakefile reads this registry inside Snakemake's own environment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class FigureEntry:
    """One figure of the report.

    Attributes
    ----------
    title : what is seen, as a heading.
    caption : how to read it, in plain words.
    function : ``"module:function"``; called with the frames that it reads, by name.
    label : of the paper's figure that it reproduces; empty for ours.
    """

    title: str
    caption: str
    function: str
    label: str = ""

    @property
    def module(self) -> str:
        """The module of the function, below the library."""
        return self.function.partition(":")[0].removeprefix("nddv.")

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function


FIGURES: dict[str, FigureEntry] = {
    "overview": FigureEntry(
        title="From data to values in one training run",
        caption=(
            "Every panel is drawn from one real run on 2dplanes (n = 1000, 10 % wrong labels): "
            "the two features that tell most about the label (shifted a little at random so that "
            "points do not hide each other), states over time, terminal states with the "
            "co-states of some points as arrows, the values of clean and of corrupted points, "
            "and the share of corrupted points found by inspecting the lowest values first. Dark "
            "arrows and bars are clean points of both classes. States have 32 coordinates; their "
            "first two principal components at the terminal time are shown. The paper's source "
            "names no picture for this figure, so the layout is ours."
        ),
        function="nddv.reporting.trajectories.overview:overview",
        label="fig:nddv",
    ),
    "state_dynamics": FigureEntry(
        title="States under the mean-field flow, and the learned weights",
        caption=(
            "a: states of one run along the first two principal components of its terminal "
            "states, over time and in the plane; lines are single points at even ranks, bands "
            "hold 10 to 90 % of the clean points of a class, black is the weighted mean that "
            "ties the points. b: the learned weight of a point as a function of its cost, with "
            "the points of the run on it and, in grey, the maps of other seeds. The map is not "
            "the same from seed to seed: it may rise or fall with the cost, so it does not in "
            "general take weight from corrupted points."
        ),
        function="nddv.reporting.trajectories.states:state_dynamics",
        label="fig:learn_sde",
    ),
    "layer_epoch_values": FigureEntry(
        title="Values along the flow and along training",
        caption=(
            "Values of the points of one run on 2dplanes. a: at every Euler time of the flow, "
            "after the last epoch; b: at the terminal time, after every epoch. The right ends of "
            "both are the paper's terminal value. Thick lines are medians of clean and of "
            "corrupted points, bands hold 10 to 90 % of them, thin lines are single points at "
            "even ranks of value. The grey bar is the last epoch that the path readout averages."
        ),
        function="nddv.reporting.trajectories.values:layer_epoch_values",
        label="fig:reveal_dv_layer_epoch",
    ),
    "valuation_process": FigureEntry(
        title="The valuation process on 2dplanes",
        caption=(
            "a: path values, up to each epoch of one run, of the points that end in the highest "
            "and in the lowest tenth. b: of as many lowest values as there are corrupted points, "
            "the share that is corrupted; the dotted line is chance. c to f: test accuracy of "
            "the downstream logistic regression, trained anew after points are removed or added "
            "by their values; mean over seeds, bands ± 1 standard deviation (of random orders: "
            "over draws and seeds). Points are added to an empty training set; the released code "
            "trains on all points at every step."
        ),
        function="nddv.reporting.trajectories.values:valuation_process",
        label="fig:reveal_dv",
    ),
    "detection_curve": FigureEntry(
        title="Corrupted points found by inspecting the lowest values first",
        caption=(
            "The share of corrupted training points found against the share inspected, a panel "
            "per problem. Lines are means over seeds, bands ± 1 standard deviation. The dotted "
            "diagonal is chance; the grey line is the best possible; the vertical line marks the "
            "budget (as many points as are corrupted), where the height of a curve is its "
            "budget-matched F1. Ties are broken at random."
        ),
        function="nddv.reporting.figures:detection_curves",
    ),
    "detection_removal_addition": FigureEntry(
        title="Detection, removal and addition",
        caption=(
            "What the order of the values is worth under label noise, a row of panels per "
            "problem. First column: the share of corrupted points found when the lowest values "
            "are inspected first. Others: test accuracy of the downstream logistic regression, "
            "trained anew after the points with the lowest or highest values were removed, or on "
            "the points with the highest or lowest values alone. Every point brings the label "
            "that the methods were given. Lines are means over seeds, bands ± 1 standard "
            "deviation; the solid grey line and its band are random orders; dotted is chance. "
            "Points are added to an empty training set; the released code adds none."
        ),
        function="nddv.reporting.curation:curation_figure",
        label="fig:corrupt_remove_add_exp",
    ),
    "noise_levels": FigureEntry(
        title="Detection against the share of corrupted points",
        caption=(
            "Budget-matched F1 against the rate of label noise (a) and of feature noise (b), a "
            "panel per data set; means and ± 1 standard deviation over seeds. The dotted line is "
            "chance, which grows with the rate. Hollow markers are the paper's numbers, on the "
            "data set that we take its tables for; the paper does not name it. The methods that "
            "matter most are told apart, all others are thin grey lines named at the foot; "
            "methods at one rate are set a little apart sideways. The two blocks have their own "
            "scale."
        ),
        function="nddv.reporting.noise:noise_levels",
        label="fig:feature_label_noise_exp",
    ),
    "noise_levels_structured": FigureEntry(
        title="The structured realisation against the share of corrupted points",
        caption=(
            "NDDV with KAN components, which is the default here, beside NDDV with a plain "
            "network, and the small-loss control. Budget-matched F1, means and ± 1 standard "
            "deviation over seeds; the dotted line is chance. Filled markers and solid lines: "
            "KAN; hollow markers and dashed lines: a multilayer perceptron."
        ),
        function="nddv.reporting.noise:noise_levels_structured",
        label="fig:noise_interpretability_exp",
    ),
    "imagenet100_curves": FigureEntry(
        title="ImageNet100: F1 and recall-AUC against the share of corrupted points",
        caption=(
            "Budget-matched F1 and the area under the detection curve on ImageNet100 under label "
            "and feature noise. Pictures of ImageNet cannot be had from a package index; without "
            "them the figure says so. The grey line is the best possible area, 1 − r/2; the "
            "paper's 0.950 at 10 % lies on it."
        ),
        function="nddv.reporting.noise:imagenet100_curves",
        label="fig:imagenet100_f1_recall",
    ),
    "class_conditional": FigureEntry(
        title="Gaps between classes and quality of detection",
        caption=(
            "The largest gap of the true-positive rate (DTPRGap) and of both rates (DEOGap) "
            "between classes, against the quality of detection; a point for each method, mean ± "
            "1 standard deviation over seeds. The dash at the same place is the method's floor: "
            "the gap that finite classes show under equal treatment. Good methods lie right and "
            "at their floor."
        ),
        function="nddv.reporting.groups:class_conditional_figure",
        label="fig:class_conditional_diagnostics",
    ),
    "sensitivity": FigureEntry(
        title="One setting of NDDV changed at a time",
        caption=(
            "Budget-matched F1 on 2dplanes under label noise, for the terminal and the path "
            "readout, when one setting is changed: reweighting (a), mean-field interaction a "
            "(b), diffusion σ (c), size of the meta set (d), width of the weight network (e). "
            "Means and ± 1 standard deviation over seeds; the usual setting is marked, the "
            "dotted line is chance. Settings are evenly spaced, not to scale; “no values” marks "
            "a setting whose runs gave none."
        ),
        function="nddv.reporting.sensitivity:sensitivity",
        label="fig:ablation_study",
    ),
    "matern_kan": FigureEntry(
        title="Matérn kernels, what networks made of them learn, and a fitted control",
        caption=(
            "(a, b) The kernels, their derivatives and random functions made of them (same "
            "draws, shifted): ν decides how smooth they are. (c) Error of KANs and of MLPs with "
            "as many parameters on known functions, over repetitions; the learning rate of each "
            "fit is chosen on validation points. (d) What the last control of one NDDV fit adds "
            "to the margin of a class: inner and outer functions, and the change when one "
            "coordinate moves from its median; ticks are training points. Coordinates are "
            "features of the learned representation, not causes; targets and settings of (c) are "
            "ours, because the paper gives none."
        ),
        function="nddv.reporting.kernels:matern_kan",
        label="fig:terminal_map_interpretability",
    ),
    "elapsed_time": FigureEntry(
        title="Time to value the points of synthetic data",
        caption=(
            "Seconds of every method against the number of training points, on logarithmic axes; "
            "a column of panels for each number of features, above with 100 validation rows and "
            "below with n/10, as in the released code. Points are means of repeated runs ± 1 "
            "standard deviation, open triangles are time-outs, and grey lines rise as n and n². "
            "The paper states neither its data nor its number of validation rows: ours are a "
            "deviation."
        ),
        function="nddv.reporting.timing.figures:elapsed_time_figure",
        label="fig:time_comparison",
    ),
    "runtime_scaling": FigureEntry(
        title="Run time of NDDV, GhostSuite and LossVal as n grows",
        caption=(
            "Seconds against the number of training points, a panel for each number of features, "
            "with 100 validation rows. Solid lines were measured; dashed lines are "
            "extrapolations by the power law whose exponent is written in the panel, no farther "
            "than the measured sizes span. GhostSuite is our in-run Shapley on a linear model, "
            "so its seconds are not those of the authors' code."
        ),
        function="nddv.reporting.timing.figures:runtime_scaling_figure",
        label="fig:runtime_comparison_new",
    ),
    "certificates": FigureEntry(
        title="Certified orders of pairs, downstream model",
        caption=(
            "Does a score order two points as a semi-value does? A pair is certified where the "
            "gap of its scores is beyond the bound on the error (Theorem “Pair-specific "
            "comparison”, Corollary “Finite-sample pairwise certificate”). The pairs were chosen "
            "before any coalition was drawn. For leave-one-out the error is known exactly; for "
            "the other semi-values it is bounded from sampled coalitions. Shown are problems "
            "with label noise and the log-likelihood."
        ),
        function="nddv.reporting.certificates:noisy_certificates",
    ),
    "certificates_retrained": FigureEntry(
        title="Certified orders of pairs, NDDV model retrained",
        caption=(
            "As the figure before, against leave-one-out retraining of the NDDV model itself: "
            "the quantity that the participation readout is the derivative of. Shown are "
            "problems with label noise and the log-likelihood."
        ),
        function="nddv.reporting.certificates:noisy_certificates",
    ),
    "bridge_budget": FigureEntry(
        title="From the local derivative to the finite marginal",
        caption=(
            "Every term of the bridge from the one-run score to the finite marginal (Theorem "
            "“Local-to-finite marginal bridge”), by retraining the NDDV model with fractional "
            "weights of one point. The bar is the budget, the mark the gap that it must bound."
        ),
        function="nddv.reporting.bridge:bridge_figure",
    ),
    **{
        f"stability_{check}": FigureEntry(
            title=f"A check of the theory: {check.replace('_', ' ')}",
            caption=(f"{what} Lines are what the theory says, points what was measured."),
            function=f"nddv.reporting.stability:{check}",
        )
        for check, what in {
            "contraction": "Distances of states to each other and to their group under the flow.",
            "score_gap_transfer": "Gaps between groups against the strength of interaction.",
            "frozen_aggregate": "The error of a frozen aggregate against the number of points.",
            "discretisation": "The error of scores against time step and number of trajectories.",
            "stationarity": "Mean squared gradients of the weight update against its steps.",
        }.items()
    },
}
