"""The best that a detector can expect on one problem whose P(y|x) is known, over its seeds."""

from pathlib import Path

import pandas as pd

from nddv.evaluation.ceiling import CEILING, ceiling, class_probabilities
from nddv.problems import load_problem, load_table, load_truth
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import job

with job(snakemake):
    probabilities = class_probabilities(load_table(Path(snakemake.input.labels).parent))
    files = (snakemake.params.seeds, snakemake.input.problems, snakemake.input.truths)
    rows = []
    for seed, problem, truth in zip(*files, strict=True):
        f1 = ceiling(probabilities, load_problem(problem), load_truth(truth))
        about = {"method": CEILING, "seed": seed, "f1_budget": f1}
        rows.append({**columns_of(snakemake.wildcards), **about})
    write_csv(snakemake.output.scores, pd.DataFrame(rows))
