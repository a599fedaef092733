"""Gaps between groups, of the values of all methods and seeds of one problem."""

from nddv.evaluation.groups import group_tables
from nddv.problems import load_problem, load_truth
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import job
from nddv.values import load_values

with job(snakemake):
    seeds = snakemake.params.seeds
    groups, summary = group_tables(
        dict(zip(seeds, map(load_problem, snakemake.input.problems), strict=True)),
        dict(zip(seeds, map(load_truth, snakemake.input.truths), strict=True)),
        [load_values(path) for path in snakemake.input.values],
        columns_of(snakemake.wildcards),
        snakemake.params.step,
        snakemake.params.draws,
    )
    write_csv(snakemake.output.groups, groups)
    write_csv(snakemake.output.summary, summary)
