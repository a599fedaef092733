"""The figures of the report: what each says, is drawn by, and reads.

A new figure is one function that takes data frames and gives a matplotlib ``Figure``, and one entry
here. :mod:`nddv.workflow.sources` says what can be read, and what can be told (``facts``).
"""

from __future__ import annotations

from nddv.reporting.registry import Figure

_RATES = "label_noise_rates,feature_noise_rates"

_STABILITY = {
    "contraction": "Distances of states to each other and to their group under the flow.",
    "score_gap_transfer": "Gaps between groups against the strength of interaction.",
    "frozen_aggregate": "The error of a frozen aggregate against the number of points.",
    "discretisation": "The error of scores against time step and number of trajectories.",
    "stationarity": "Mean squared gradients of the weight update against its steps.",
}


def _frames(source: str, *names: str) -> dict[str, str]:
    """Arguments with the names of the frames of a source."""
    return {name: f"{source}:{name}" for name in names}


_ENTRIES = [
    Figure(
        name="overview",
        title="From data to values in one training run",
        caption=(
            "Every panel is drawn from one real run on 2dplanes (n = 1000, 10 % wrong labels): the "
            "two features that tell most about the label (shifted a little at random so that "
            "points do not hide each other), states over time, terminal states with the co-states "
            "of some points as arrows, the values of clean and of corrupted points, and the share "
            "of corrupted points found by inspecting the lowest values first. Dark arrows and bars "
            "are clean points of both classes. States have 32 coordinates; their first two "
            "principal components at the terminal time are shown. The paper's source names no "
            "picture for this figure, so the layout is ours."
        ),
        label="fig:nddv",
        part="pictures",
        function="nddv.reporting.figures.overview:overview",
        reads=_frames("trajectories", "run", "points", "states", "steps"),
    ),
    Figure(
        name="state_dynamics",
        title="States under the mean-field flow, and the learned weights",
        caption=(
            "a: states of one run along the first two principal components of its terminal states, "
            "over time and in the plane; lines are single points at even ranks, bands hold 10 to "
            "90 % of the clean points of a class, black is the weighted mean that ties the points. "
            "b: the learned weight of a point as a function of its cost, with the points of the "
            "run on it and, in grey, the maps of other seeds. The map is not the same from seed to "
            "seed: it may rise or fall with the cost, so it does not in general take weight from "
            "corrupted points."
        ),
        label="fig:learn_sde",
        part="pictures",
        function="nddv.reporting.figures.trajectories:state_dynamics",
        reads={
            **_frames("trajectories", "run", "points", "states", "steps"),
            "weight_map": "weight_maps",
        },
    ),
    Figure(
        name="layer_epoch_values",
        title="Values along the flow and along training",
        caption=(
            "Values of the points of one run on 2dplanes. a: at every Euler time of the flow, "
            "after the last epoch; b: at the terminal time, after every epoch. The right ends of "
            "both are the paper's terminal value. Thick lines are medians of clean and of "
            "corrupted points, bands hold 10 to 90 % of them, thin lines are single points at even "
            "ranks of value. The grey bar is the last epoch that the path readout averages."
        ),
        label="fig:reveal_dv_layer_epoch",
        part="pictures",
        function="nddv.reporting.figures.trajectories:layer_epoch_values",
        reads=_frames("trajectories", "run", "points", "layers", "epochs"),
    ),
    Figure(
        name="valuation_process",
        title="The valuation process on 2dplanes",
        caption=(
            "a: path values, up to each epoch of one run, of the points that end in the highest "
            "and in the lowest tenth. b: of as many lowest values as there are corrupted points, "
            "the share that is corrupted; the dotted line is chance. c to f: test accuracy of the "
            "downstream logistic regression, trained anew after points are removed or added by "
            "their values; mean over seeds, bands ± 1 standard deviation (of random orders: over "
            "draws and seeds). Points are added to an empty training set; the released code trains "
            "on all points at every step."
        ),
        label="fig:reveal_dv",
        part="pictures",
        function="nddv.reporting.figures.trajectories:valuation_process",
        reads={
            **_frames("trajectories", "run", "points", "epochs"),
            "curves": "pictured_curation",
        },
    ),
    Figure(
        name="detection_curve",
        title="Corrupted points found by inspecting the lowest values first",
        caption=(
            "The share of corrupted training points found against the share inspected, a panel per "
            "problem. Lines are means over seeds, bands ± 1 standard deviation. The dotted "
            "diagonal is chance; the grey line is the best possible; the vertical line marks the "
            "budget (as many points as are corrupted), where the height of a curve is its "
            "budget-matched F1. Ties are broken at random."
        ),
        part="detection",
        function="nddv.reporting.figures.detection:detection_curves",
        reads={"curves": "detection_curves", "scores": "detection_scores"},
        methods="methods",
    ),
    Figure(
        name="detection_removal_addition",
        title="Detection, removal and addition",
        caption=(
            "What the order of the values is worth under label noise, a row of panels per problem. "
            "First column: the share of corrupted points found when the lowest values are "
            "inspected first. Others: test accuracy of the downstream logistic regression, trained "
            "anew after the points with the lowest or highest values were removed, or on the "
            "points with the highest or lowest values alone. Every point brings the label that the "
            "methods were given. Lines are means over seeds, bands ± 1 standard deviation; the "
            "solid grey line and its band are random orders; dotted is chance. Points are added to "
            "an empty training set; the released code adds none."
        ),
        label="fig:corrupt_remove_add_exp",
        part="curation",
        function="nddv.reporting.figures.curation:curation_curves",
        reads={"curves": "curation_curves", "detection": "curated_detection_curves"},
        methods="methods",
    ),
    Figure(
        name="noise_levels",
        title="Detection against the share of corrupted points",
        caption=(
            "Budget-matched F1 against the rate of label noise (a) and of feature noise (b), a "
            "panel per data set; means and ± 1 standard deviation over seeds. The dotted line is "
            "chance, which grows with the rate. Hollow markers are the paper's numbers, on the "
            "data set that we take its tables for; the paper does not name it. The methods that "
            "matter most are told apart, all others are thin grey lines named at the foot; methods "
            "at one rate are set a little apart sideways. The two blocks have their own scale."
        ),
        label="fig:feature_label_noise_exp",
        part="experiments",
        function="nddv.reporting.figures.noise:noise_levels",
        reads={"scores": f"experiment_scores:{_RATES}", "published": f"published:{_RATES}"},
        facts={"gaps": f"experiment_absent:{_RATES}"},
        methods=f"methods_of:{_RATES}",
    ),
    Figure(
        name="noise_levels_structured",
        title="The structured realisation against the share of corrupted points",
        caption=(
            "NDDV with KAN components, which is the default here, beside NDDV with a plain "
            "network, and the small-loss control. Budget-matched F1, means and ± 1 standard "
            "deviation over seeds; the dotted line is chance. Filled markers and solid lines: KAN; "
            "hollow markers and dashed lines: a multilayer perceptron."
        ),
        label="fig:noise_interpretability_exp",
        part="experiments",
        function="nddv.reporting.figures.noise:noise_levels_structured",
        reads={"scores": "experiment_scores:structured_noise_rates"},
        facts={"gaps": "experiment_absent:structured_noise_rates"},
        methods="methods_of:structured_noise_rates",
    ),
    Figure(
        name="imagenet100_curves",
        title="ImageNet100: F1 and recall-AUC against the share of corrupted points",
        caption=(
            "Budget-matched F1 and the area under the detection curve on ImageNet100 under label "
            "and feature noise. No package index has the pictures of ImageNet; without them the "
            "figure says so. The grey line is the best possible area, 1 − r/2; the paper's 0.950 "
            "at 10 % lies on it."
        ),
        label="fig:imagenet100_f1_recall",
        part="experiments",
        function="nddv.reporting.figures.noise:imagenet100_curves",
        reads={"scores": "experiment_scores:imagenet100_scaling"},
        facts={"gaps": "experiment_absent:imagenet100_scaling"},
    ),
    Figure(
        name="class_conditional",
        title="Gaps between classes and quality of detection",
        caption=(
            "The largest gap of the true-positive rate (DTPRGap) and of both rates (DEOGap) "
            "between classes, against the quality of detection; a point for each method, mean ± 1 "
            "standard deviation over seeds. The dash at the same place is the method's floor: the "
            "gap that finite classes show under equal treatment. Good methods lie right and at "
            "their floor."
        ),
        label="fig:class_conditional_diagnostics",
        part="groups",
        function="nddv.reporting.figures.groups:class_conditional",
        reads={"rows": "curated_groups"},
    ),
    Figure(
        name="sensitivity",
        title="One setting of NDDV changed at a time",
        caption=(
            "Budget-matched F1 on 2dplanes under label noise, for the terminal and the path "
            "readout, when one setting is changed: reweighting (a), mean-field interaction a (b), "
            "diffusion σ (c), size of the meta set (d), width of the weight network (e). Means and "
            "± 1 standard deviation over seeds; the usual setting is marked, the dotted line is "
            "chance. Settings are evenly spaced, not to scale; “no values” marks a setting whose "
            "runs gave none."
        ),
        label="fig:ablation_study",
        part="sensitivity",
        function="nddv.reporting.figures.sensitivity:sensitivity",
        reads={"table": "table:sensitivity"},
    ),
    Figure(
        name="matern_kan",
        title="Matérn kernels, what networks made of them learn, and a fitted control",
        caption=(
            "(a, b) The kernels, their derivatives and random functions made of them (same draws, "
            "shifted): ν decides how smooth they are. (c) Error of KANs and of MLPs with as many "
            "parameters on known functions, over repetitions; the learning rate of each fit is "
            "chosen on validation points. (d) What the last control of one NDDV fit adds to the "
            "margin of a class: inner and outer functions, and the change when one coordinate "
            "moves from its median; ticks are training points. Coordinates are features of the "
            "learned representation, not causes; targets and settings of (c) are ours, because the "
            "paper gives none."
        ),
        label="fig:terminal_map_interpretability",
        part="pictures",
        function="nddv.reporting.figures.kernels:matern_kan",
        reads={
            **_frames("kernels", "curves", "regressions"),
            **_frames("coordinates", "functions", "states", "strengths"),
        },
    ),
    Figure(
        name="elapsed_time",
        title="Time to value the points of synthetic data",
        caption=(
            "Seconds of every method against the number of training points, on logarithmic axes; a "
            "column of panels for each number of features, above with 100 validation rows and "
            "below with n/10, as in the released code. Points are means of repeated runs ± 1 "
            "standard deviation, open triangles are time-outs, and grey lines rise as n and n². "
            "The paper states neither its data nor its number of validation rows: ours are a "
            "deviation."
        ),
        label="fig:time_comparison",
        part="scaling",
        function="nddv.reporting.figures.timing:elapsed_time",
        reads={"timings": "timings:elapsed_time"},
    ),
    Figure(
        name="runtime_scaling",
        title="Run time of NDDV, GhostSuite and LossVal as n grows",
        caption=(
            "Seconds against the number of training points, a panel for each number of features, "
            "with 100 validation rows. Solid lines were measured; dashed lines are extrapolations "
            "by the power law whose exponent is written in the panel, no farther than the measured "
            "sizes span. GhostSuite is our in-run Shapley on a linear model, so its seconds are "
            "not those of the authors' code."
        ),
        label="fig:runtime_comparison_new",
        part="scaling",
        function="nddv.reporting.figures.timing:runtime_scaling",
        reads={"timings": "timings:runtime_scaling"},
    ),
    Figure(
        name="certificates",
        title="Certified orders of pairs, downstream model",
        caption=(
            "Does a score order two points as a semi-value does? A pair is certified where the gap "
            "of its scores is beyond the bound on the error (Theorem “Pair-specific comparison”, "
            "Corollary “Finite-sample pairwise certificate”). The pairs were chosen before any "
            "coalition was drawn. For leave-one-out the error is known exactly; for the other "
            "semi-values it is bounded from sampled coalitions. Shown are problems with label "
            "noise and the log-likelihood."
        ),
        part="audits",
        function="nddv.reporting.figures.certificates:noisy_certificates",
        reads={"rows": "audit:marginal_certificates"},
    ),
    Figure(
        name="certificates_retrained",
        title="Certified orders of pairs, NDDV model retrained",
        caption=(
            "As the figure before, against leave-one-out retraining of the NDDV model itself: the "
            "quantity that the participation readout is the derivative of. Shown are problems with "
            "label noise and the log-likelihood."
        ),
        part="audits",
        function="nddv.reporting.figures.certificates:noisy_certificates",
        reads={"rows": "audit:retraining_certificates"},
    ),
    Figure(
        name="bridge_budget",
        title="From the local derivative to the finite marginal",
        caption=(
            "Every term of the bridge from the one-run score to the finite marginal (Theorem "
            "“Local-to-finite marginal bridge”), by retraining the NDDV model with fractional "
            "weights of one point. The bar is the budget, the mark the gap that it must bound."
        ),
        part="audits",
        function="nddv.reporting.figures.bridge:bridge_budget",
        reads={"budgets": "audit:bridge"},
    ),
    *(
        Figure(
            name=f"stability_{check}",
            title=f"A check of the theory: {check.replace('_', ' ')}",
            caption=f"{what} Lines are what the theory says, points what was measured.",
            part="audits",
            function=f"nddv.reporting.figures.stability:{check}",
            reads={"frame": f"stability:{check}"},
        )
        for check, what in _STABILITY.items()
    ),
]

FIGURES: dict[str, Figure] = {entry.name: entry for entry in _ENTRIES}
