"""Value the problems of all seeds with one baseline, or with several that read the same fits."""

from itertools import product

from nddv.methods.valuation import values_or_gaps
from nddv.problems import load_problem
from nddv.support.jobs import job
from nddv.values import save_values

with job(snakemake):
    params, methods = snakemake.params, snakemake.params.methods
    values = [
        values_or_gaps(methods, load_problem(path), seed, **params.settings)
        for path, seed in zip(snakemake.input.problems, params.seeds, strict=True)
    ]
    pairs = product(methods, values)
    for (method, of_seed), path in zip(pairs, snakemake.output.values, strict=True):
        save_values(path, of_seed[method])
