"""The parts of the report: which tables and figures each asks for."""

from nddv.reporting.contents import check_report


def report_files(tables, figures):
    """The files of tables and figures, by their names."""
    return [
        *expand(
            "reports/tables/{table}.{suffix}",
            table=tables,
            suffix=["csv", "md", "html", "tex"],
        ),
        *expand(
            "reports/figures/{figure}.{suffix}", figure=figures, suffix=["pdf", "png"]
        ),
    ]


# Title and problems of the tables of groups. Without Adult there is nothing to say of its protected attribute.
ADULT = [one for one in PROBLEMS if one["dataset"] == "adult"]
GROUP_TABLES = {
    "threshold_sensitivity": ("Sensitivity of detection to the threshold", PROBLEMS),
    "adult_score_gaps": ("Adult: gaps of scores between groups", ADULT),
    "adult_detection_gaps": ("Adult: gaps of detection between groups", ADULT),
}

# What the parts of the configuration ask for: tables and figures by name.
PARTS = {
    "detection": (
        [
            "datasets",
            *(name for name in EXPERIMENTS if name not in config["experiments"]),
            "leaders",
        ],
        ["detection_curve"],
    ),
    "experiments": (
        list(config["experiments"]),
        ["noise_levels", "noise_levels_structured", "imagenet100_curves"],
    ),
    "sensitivity": (["sensitivity", "adjoint_norms"], ["sensitivity"]),
    "curation": (["curation"], ["detection_removal_addition"]),
    "groups": (
        [name for name, (_, problems) in GROUP_TABLES.items() if problems],
        ["class_conditional"],
    ),
    "audits": (
        [
            "epsilon_delta",
            "value_gaps",
            "rank_correlations",
            "certificates",
            "retraining_fidelity",
            "datamodelling",
        ],
        [
            "certificates",
            "certificates_retrained",
            "bridge_budget",
            *(f"stability_{check}" for check in STABILITY_CHECKS),
        ],
    ),
    "scaling": (
        ["wallclock_scaling", "runtime_scaling"],
        ["elapsed_time", "runtime_scaling"],
    ),
    "pictures": (
        [],
        [
            "overview",
            "state_dynamics",
            "layer_epoch_values",
            "valuation_process",
            "matern_kan",
        ],
    ),
}


def report_of(parts):
    """The files of parts of the report."""
    named = [PARTS[part] for part in parts if part in PARTS]
    return report_files(
        [table for tables, _ in named for table in tables],
        [figure for _, figures in named for figure in figures],
    )


def part_files(part):
    """What a part asks for; the claims and the page are made of the other parts that are asked for."""
    if part == "claims":
        return report_files(["claims"], [])
    return ["reports/index.html"] if part == "page" else report_of([part])


def of_all_parts(folder, suffix):
    """The files of the parts that are asked for, of one folder of the report and one format."""
    start = f"reports/{folder}/"
    return [
        path
        for path in report_of(config["parts"])
        if path.startswith(start) and path.endswith(suffix)
    ]


# The page may announce what this configuration does not make, but nothing that none does.
if "page" in config["parts"]:
    try:
        check_report(
            os.path.join(workflow.basedir, "config", "report.yaml"),
            os.path.join(SCHEMAS, "report.schema.yaml"),
            [*GROUP_TABLES, *(name for tables, _ in PARTS.values() for name in tables)],
        )
    except ValueError as error:
        raise WorkflowError(str(error)) from None
