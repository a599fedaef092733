"""The tables of the report: what each says, is made by, and reads.

A new table is one function that takes data frames and gives a data frame, and one entry here.
:mod:`nddv.workflow.sources` says what can be read, and what can be told (``facts``). Claims may
name the columns of an entry, and ``<column>_sd`` beside a mean.
"""

from __future__ import annotations

from nddv.reporting.catalogue.audits import AUDITS
from nddv.reporting.catalogue.columns import columns
from nddv.reporting.catalogue.groups import GROUPS
from nddv.reporting.catalogue.timings import TIMINGS
from nddv.reporting.claims import SCORES
from nddv.reporting.registry import Table


def experiment_table(
    name: str,
    title: str,
    across: str,
    caption: str = "",
    label: str = "",
    part: str = "experiments",
) -> Table:
    """The entry of a table of detection.

    across : the column of the problem whose values become the columns of the text.
    """
    return Table(
        name=name,
        title=title,
        caption=caption,
        label=label,
        part=part,
        about="F1 of detection, budget-matched: as many points are flagged, the lowest values, as "
        "are corrupted. Bold: the best of a column. In brackets: the number that the paper prints. "
        "Other rules, areas, AUROC and seconds are in the CSV.",
        function="nddv.reporting.tables.detection:detection_table",
        reads={"scores": f"experiment_scores:{name}", "published": f"published:{name}"},
        facts={"methods": f"experiment_methods:{name}", "gaps": f"experiment_gaps:{name}"},
        columns={across: ""}
        | columns(
            " ".join(name for name in ("dataset", "n", "corruption", "title") if name != across),
            "method runs f1 published two_means two_means_precision two_means_recall "
            "two_means_at_least two_means_at_least_precision two_means_at_least_recall area auroc "
            "seconds published_area note",
        ),
        layout="nddv.reporting.tables.detection:lay_out",
    )


_DETECTION = {
    1000: (
        "F1 of detecting 10 % wrong labels among 1000 points, with the published number beside the "
        "measured one.",
        "tab:mislabeled_data_detection",
    ),
    10_000: (
        "The same among 10,000 points, for the methods that scale.",
        "tab:mislabeled_data_detection_n10000",
    ),
}


def detection_table(n: int) -> Table:
    """The entry of the table of detection of the main problems with n points."""
    caption, label = _DETECTION.get(n, (f"F1 of detection among {n} points.", ""))
    title = f"Detection of corrupted training points, n = {n}"
    return experiment_table(f"detection_n{n}", title, "dataset", caption, label, "detection")


_ENTRIES = [
    Table(
        name="datasets",
        title="Data sets",
        caption="Data sets as they were loaded, beside the paper's numbers, with the source that "
        "was used and every departure.",
        label="tab:summary_of_datasets",
        part="detection",
        about="Rows, dimension and smallest class are measured after loading. Checksum: whether "
        "the content was compared with a known SHA-256.",
        function="nddv.reporting.tables.datasets:dataset_table",
        reads={"summaries": "summaries", "published": "published:datasets"},
        facts={"needed": "needed", "gaps": "gaps"},
        columns=columns(
            "title type rows rows_paper features features_paper classes minority minority_paper "
            "group encoder source checksum deviations",
            "dataset",
            title="Data set",
        ),
        seeded=False,
    ),
    Table(
        name="leaders",
        title="NDDV beside the best baseline",
        caption="Where NDDV leads and where it does not. The baseline that is closest or ahead is "
        "Data-OOB, with forests nearly everywhere. On electricity its lead grows with n; a likely "
        "reason, not tested here, is that a forest fits that table better than our small smooth "
        "model, and a detector is as good as the model behind it. NDDV has one configuration for "
        "all rows; the best baseline is chosen row by row.",
        part="detection",
        about="Budget-matched F1. The best baseline is the one with the highest mean over seeds, "
        "chosen with these same seeds, which favours it; the small-loss control counts as a "
        "baseline. Ahead by: differences seed by seed, on the same points. Wins: seeds in which "
        "the readout is ahead or level.",
        function="nddv.reporting.tables.leaders:leaders",
        reads={"scores": "detection_scores"},
        facts={"methods": "methods"},
        columns=columns(
            "dataset n corruption title f1 baseline_title baseline_f1 ahead wins leads",
            "method baseline",
            title="Readout",
        ),
    ),
    Table(
        name="sensitivity",
        title="Sensitivity of NDDV to its settings",
        caption="F1 when one setting is changed and all others stay.",
        part="sensitivity",
        about="Detection of corrupted points with one setting of NDDV changed at a time; the row "
        "of the default is the same for every parameter.",
        function="nddv.reporting.tables.sensitivity:sensitivity_table",
        reads={"scores": "sensitivity_scores"},
        facts={"defaults": "defaults"},
        columns=columns(
            "dataset n corruption title parameter setting is_default runs f1 area note",
            "method",
            title="Readout",
            runs="Seeds",
            f1="F1, budget-matched",
        ),
    ),
    Table(
        name="adjoint_norms",
        title="Growth of the co-states",
        caption="Norm of the adjoint at the start of the flow relative to that at its end; the "
        "paper reports at most 5.",
        part="sensitivity",
        about="Largest ‖Y_0‖/‖Y_T‖ over the points of a fitted run; the paper reports at most 5. "
        "The ratio is that of the recursion: without the running cost, which keeps feeding "
        "co-states whose terminal value has vanished.",
        function="nddv.reporting.tables.adjoints:adjoint_norms",
        reads={"records": "records:nddv-terminal"},
        columns=columns("dataset n corruption largest_ratio seed note"),
        layout="nddv.reporting.tables.adjoints:lay_out",
    ),
    Table(
        name="curation",
        title="Removing and adding points by value",
        caption="Area between the curve of a method and that of random orders when points are "
        "removed or added by value.",
        part="curation",
        about="Mean difference of the test accuracy from that of random orders, over the steps of "
        "removing up to 50 % of the points or adding up to 100 %. The downstream logistic "
        "regression is trained anew at every step, on the labels that the methods were given. "
        "Random order: zero by definition; its spread is that of a single random order.",
        function="nddv.reporting.tables.curation:curation_table",
        reads={"scores": "curation_scores"},
        facts={"gaps": "gaps"},
        columns=columns(
            "dataset n corruption title remove_low remove_high add_high add_low note",
            "method runs remove_low_log_likelihood remove_high_log_likelihood "
            "add_high_log_likelihood add_low_log_likelihood",
        ),
    ),
    *GROUPS,
    *AUDITS,
    *TIMINGS,
    Table(
        name="run_times",
        title="Time and memory of the valuations",
        caption="What it took to make the values behind this report, by method.",
        part="page",
        about="Seconds of all runs together, of all problems and seeds. The readouts of NDDV share "
        "a fit: its time is in the row of each, and in the sum of hours once. Variants of NDDV "
        "count with their readout. Memory is the peak of the process, with its libraries.",
        function="nddv.reporting.tables.run_times:run_times_table",
        reads={"records": "records"},
        columns=columns(
            "title runs seconds median_seconds peak_memory_mb",
            "method",
            seconds="Seconds in all",
            median_seconds="Median seconds of a run",
            peak_memory_mb="Largest memory, MB",
        ),
        digits={"seconds": 1, "median_seconds": 2, "peak_memory_mb": 0},
        seeded=False,
    ),
    Table(
        name="claims",
        title="The claims of the paper",
        caption="A verdict on every claim of the paper, with the numbers that decide it.",
        part="claims",
        about="Every empirical claim of the paper, judged with its own score (nddv-terminal) and, "
        "beside it, with the path-integrated one. Reproduced: it holds in all cases it names. "
        "Partly: in some, or only within the spread (≈); a case that was not run does not count as "
        "one that holds. Not reproduced: it fails in all that were run. Cases are the data sets, "
        "noise rates or sizes the claim names; numbers are means ± standard deviation over seeds.",
        function="nddv.reporting.tables.claims:claims_table",
        reads={"claims": "claims", "tables": "tables"},
        columns={score.column: score.title for score in SCORES}
        | columns("claim where numbers note", "id holds nearly fails not_run"),
    ),
    Table(
        name="claim_cases",
        title="The cases of the claims",
        caption="Every comparison behind a verdict, with each score.",
        part="claims",
        function="nddv.reporting.tables.claims:claim_cases",
        reads={"claims": "claims", "tables": "tables"},
        columns=columns(
            "claim score check case left left_whose operator right right_whose tolerance outcome "
            "note",
        ),
    ),
]

TABLES: dict[str, Table] = {entry.name: entry for entry in _ENTRIES}
"""The tables that every configuration may ask for; those of detection follow from it."""
