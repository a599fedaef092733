"""Fit NDDV to a problem and write the coordinate functions of its last control."""

from nddv.anatomy.controls import coordinate_functions
from nddv.problems import load_problem
from nddv.support.files import write_csv
from nddv.support.jobs import job

with job(snakemake):
    problem, seed = load_problem(snakemake.input.problem), int(snakemake.wildcards.seed)
    tables = coordinate_functions(problem, seed, snakemake.params.settings)
    for name, path in snakemake.output.items():
        write_csv(path, tables[name])
