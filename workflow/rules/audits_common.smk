"""What the rules of the audits, and those of their tables, share."""

# What the audits of one problem and seed are made of.
PROBLEM_FILE = f"results/problems/{ADDRESS}/problem.npz"
AUDIT_VALUES = expand(
    f"results/values/{ADDRESS}/{{method}}.npz",
    method=AUDIT_METHODS,
    allow_missing=True,
)
GAME = AUDITS["game"]
NDDV_SETTINGS = config["settings"]["nddv"]


def audit_settings(part):
    """The settings of a part of the audits, without what its problems are."""
    about = ("datasets", "n", "corruptions")
    return {key: value for key, value in AUDITS[part].items() if key not in about}


def of_all_seeds(pattern, part):
    """A pattern with the wildcards of ADDRESS, for every problem and seed of a part of the audits."""
    return [
        path
        for problem in AUDITED[part]
        for path in expand(pattern, **problem, seed=SEEDS)
    ]


def certificate_rows():
    """Certificates against the downstream model, and against the NDDV model itself."""
    retrained = f"results/audits/{ADDRESS}/retraining/certificates.csv"
    return [
        *of_all_seeds(f"results/audits/{ADDRESS}/certificates.csv", "marginals"),
        *of_all_seeds(retrained, "retraining"),
    ]


# Title, parts of the audits, and the rows that each table of the audits is made of.
AUDIT_TABLES = {
    "epsilon_delta": ("Error terms of finite marginals", ["marginals"], ["errors"]),
    "value_gaps": (
        "Gaps of leave-one-out marginals between points",
        ["marginals"],
        ["gaps", "errors"],
    ),
    "rank_correlations": (
        "Rank correlations with retraining",
        ["marginals"],
        ["ranks"],
    ),
    "certificates": (
        "Certified orders of pairs",
        ["marginals", "retraining"],
        ["certificates"],
    ),
    "retraining_fidelity": (
        "Leave-one-out retraining of the NDDV model",
        ["retraining"],
        ["fidelity"],
    ),
    "datamodelling": (
        "Linear datamodelling scores",
        ["retraining"],
        ["datamodelling"],
    ),
}
AUDIT_ROWS = {
    **{
        kind: for_problems(f"results/audits/{PROBLEM}/{kind}.csv", AUDITED["marginals"])
        for kind in ("errors", "gaps", "ranks")
    },
    "certificates": certificate_rows(),
    **{
        kind: of_all_seeds(
            f"results/audits/{ADDRESS}/retraining/{kind}.csv", "retraining"
        )
        for kind in ("fidelity", "datamodelling")
    },
}


def audit_table_input(wildcards):
    """The rows of a table by their kind, and the published numbers where the paper has some."""
    _, parts, kinds = AUDIT_TABLES[wildcards.audit]
    rows = {kind: AUDIT_ROWS[kind] for kind in kinds}
    if parts == ["marginals"]:
        records = f"results/audits/{ADDRESS}/marginals.json"
        rows["records"] = of_all_seeds(records, "marginals")
    published = f"config/paper/{wildcards.audit}.csv"
    if os.path.exists(os.path.join(workflow.basedir, published)):
        rows["published"] = project_file(published)
    return rows


def audit_gaps(wildcards):
    """The problems of a table whose data sets cannot be had."""
    return [
        gap for part in AUDIT_TABLES[wildcards.audit][1] for gap in AUDIT_GAPS[part]
    ]
