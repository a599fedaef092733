"""Make the problems of all seeds of one data set, size and corruption."""

from pathlib import Path

from nddv.problems import load_table, make_problem, save_problem, save_truth
from nddv.support.jobs import job

with job(snakemake):
    table = load_table(Path(snakemake.input.labels).parent)
    n, corruption = int(snakemake.wildcards.n), snakemake.wildcards.corruption
    files = (snakemake.params.seeds, snakemake.output.problems, snakemake.output.truths)
    for seed, problem_path, truth_path in zip(*files, strict=True):
        problem, truth = make_problem(table, n, corruption, seed, **snakemake.params.options)
        save_problem(problem_path, problem)
        save_truth(truth_path, truth)
