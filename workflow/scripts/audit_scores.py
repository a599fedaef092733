"""Compare the values of one problem, over its seeds, with its reference marginals."""

import pandas as pd

from nddv.audit.marginals import from_arrays
from nddv.audit.run import audit_scores
from nddv.problems.addresses import columns_of
from nddv.support.files import load_arrays, write_csv
from nddv.support.jobs import job
from nddv.values import load_values

with job(snakemake):
    problem = columns_of(snakemake.wildcards)
    values = [load_values(path) for path in snakemake.input.values]
    frames = []
    for seed, path in zip(snakemake.params.seeds, snakemake.input.marginals, strict=True):
        of_seed = {v.record["method"]: v for v in values if v.record["seed"] == seed}
        marginals = from_arrays(load_arrays(path))
        scores = audit_scores(marginals, of_seed, seed, snakemake.params.calibration)
        frames.append({name: rows.assign(**problem, seed=seed) for name, rows in scores.items()})
    for name, path in snakemake.output.items():
        write_csv(path, pd.concat([of_seed[name] for of_seed in frames], ignore_index=True))
