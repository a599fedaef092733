"""Value the problems of all seeds with one baseline."""

from nddv.methods.valuation import value_or_gap
from nddv.problems import load_problem
from nddv.support.jobs import job
from nddv.values import save_values

with job(snakemake):
    files = (snakemake.input.problems, snakemake.params.seeds, snakemake.output.values)
    for problem_path, seed, path in zip(*files, strict=True):
        problem, method = load_problem(problem_path), snakemake.wildcards.method
        save_values(path, value_or_gap(method, problem, seed, **snakemake.params.settings))
