"""Fit NDDV to a problem and write what happens inside the run, as tables."""

from nddv.anatomy.trajectories import significant, trace_run
from nddv.problems import load_problem, load_truth
from nddv.support.files import write_csv
from nddv.support.jobs import job

with job(snakemake):
    problem, truth = load_problem(snakemake.input.problem), load_truth(snakemake.input.truth)
    run = trace_run(problem, truth, int(snakemake.wildcards.seed), snakemake.params.settings)
    for name, path in snakemake.output.items():
        write_csv(path, significant(run[name]))
