"""Which files each figure of the catalogue is drawn from."""

from nddv.reporting.catalogue import FIGURES

PICTURED_ADDRESS = ADDRESS.format(**PICTURED, seed=config["pictures"]["seed"])
PICTURED_CURVES = f"results/evaluation/{PROBLEM.format(**PICTURED)}/curation_curve.csv"


def scores_of(*experiments):
    """Detection scores of the problems of experiments."""
    problems = [one for name in experiments for one in EXPERIMENTS[name]["problems"]]
    return list(
        dict.fromkeys(
            for_problems(f"results/evaluation/{PROBLEM}/detection.csv", problems)
        )
    )


def experiment_method_names(*experiments):
    """The methods of experiments, each once."""
    problems = [one for name in experiments for one in EXPERIMENTS[name]["problems"]]
    return list(dict.fromkeys(m for one in problems for m in methods_of(one)))


def trajectories(*frames):
    """Frames of the run that is pictured."""
    return {
        name: f"results/trajectories/{PICTURED_ADDRESS}/{name}.csv" for name in frames
    }


def weight_maps():
    """Weight maps of all seeds, that of the pictured run first."""
    pattern = (
        f"results/trajectories/{PROBLEM.format(**PICTURED)}/seed{{seed}}/weight_map.csv"
    )
    own = config["pictures"]["seed"]
    return [pattern.format(seed=seed) for seed in dict.fromkeys([own, *SEEDS])]


MAIN = dict(
    scores=for_problems(f"results/evaluation/{PROBLEM}/detection.csv"),
    curves=for_problems(f"results/evaluation/{PROBLEM}/detection_curve.csv"),
)
RATES = ["label_noise_rates", "feature_noise_rates"]

FIGURE_INPUTS = {
    "detection_curve": MAIN,
    "detection_removal_addition": {
        "curves": for_problems(
            f"results/evaluation/{PROBLEM}/curation_curve.csv", CURATED
        ),
        "detection": for_problems(
            f"results/evaluation/{PROBLEM}/detection_curve.csv", CURATED
        ),
    },
    "noise_levels": {
        "scores": scores_of(*RATES),
        "published": [project_file(f"config/paper/{name}.csv") for name in RATES],
    },
    "noise_levels_structured": {"scores": scores_of("structured_noise_rates")},
    "imagenet100_curves": {"scores": scores_of("imagenet100_scaling")},
    "class_conditional": {
        "rows": for_problems(
            f"results/evaluation/{PROBLEM}/groups_summary.csv", CURATED
        )
    },
    "sensitivity": {"table": ["reports/tables/sensitivity.csv"]},
    "certificates": {
        "rows": of_all_seeds(f"results/audits/{ADDRESS}/certificates.csv", "marginals")
    },
    "certificates_retrained": {
        "rows": of_all_seeds(
            f"results/audits/{ADDRESS}/retraining/certificates.csv", "retraining"
        )
    },
    "bridge_budget": {
        "budgets": of_all_seeds(f"results/audits/{ADDRESS}/bridge.csv", "bridge")
    },
    **{
        f"stability_{check}": {"frame": [f"results/audits/stability/{check}.csv"]}
        for check in STABILITY_CHECKS
    },
    "elapsed_time": {"timings": timing_rows("elapsed_time")},
    "runtime_scaling": {"timings": timing_rows("runtime_scaling")},
    "overview": trajectories("run", "points", "states", "steps"),
    "state_dynamics": {
        **trajectories("run", "points", "states", "steps"),
        "weight_map": weight_maps(),
    },
    "layer_epoch_values": trajectories("run", "points", "layers", "epochs"),
    "valuation_process": {
        **trajectories("run", "points", "epochs"),
        "curves": [PICTURED_CURVES],
    },
    "matern_kan": {
        **{name: f"results/kernels/{name}.csv" for name in ("curves", "regressions")},
        **{
            name: f"results/kernels/{PICTURED_ADDRESS}/{name}.csv"
            for name in ("functions", "states", "strengths")
        },
    },
}
# Of frames that have more methods than the figure shows.
FIGURE_METHODS = {
    "detection_curve": config["methods"],
    "detection_removal_addition": config["methods"],
    "noise_levels": experiment_method_names(*RATES),
    "noise_levels_structured": experiment_method_names("structured_noise_rates"),
}
# What could not be run, for figures that say so.
FIGURE_GAPS = {
    "noise_levels": RATES,
    "noise_levels_structured": ["structured_noise_rates"],
    "imagenet100_curves": ["imagenet100_scaling"],
}


def figure_input(wildcards):
    """The files of a figure, by the names of the frames that its function takes."""
    return FIGURE_INPUTS[wildcards.figure]


def figure_options(wildcards):
    """What the function of a figure is told besides its frames."""
    names = FIGURE_GAPS.get(wildcards.figure)
    if names is None:
        return {}
    return {"gaps": [gap for name in names for gap in EXPERIMENTS[name]["gaps"]]}


def figure_sources(wildcards):
    """The code that draws a figure."""
    return source_hash(FIGURES[wildcards.figure].module, "reporting.figures")
