"""Fit NDDV to the problems of all seeds together, and write the values of every readout."""

from itertools import product

from nddv.methods.valuation import nddv_values_or_gaps
from nddv.problems import load_problem
from nddv.support.jobs import job
from nddv.values import save_values

with job(snakemake):
    params, methods = snakemake.params, snakemake.params.methods
    problems = [load_problem(path) for path in snakemake.input.problems]
    values = nddv_values_or_gaps(problems, params.seeds, methods, **params.settings)
    pairs = product(methods, values)
    for (method, of_seed), path in zip(pairs, snakemake.output.values, strict=True):
        save_values(path, of_seed[method])
