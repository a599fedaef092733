"""Remove and add the points of one problem, over its seeds, by the values of all methods."""

from nddv.evaluation.curation import curation_tables
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import job
from nddv.values import load_values

with job(snakemake):
    problems = map(load_problem, snakemake.input.problems)
    curves, scores = curation_tables(
        dict(zip(snakemake.params.seeds, problems, strict=True)),
        [load_values(path) for path in snakemake.input.values],
        columns_of(snakemake.wildcards),
        **snakemake.params.settings,
    )
    write_csv(snakemake.output.curves, curves)
    write_csv(snakemake.output.scores, scores)
