"""Score the values of all methods and seeds of one problem against the truth."""

from nddv.evaluation.collect import detection_tables
from nddv.problems import load_truth
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import job
from nddv.values import load_values

with job(snakemake):
    truths = map(load_truth, snakemake.input.truths)
    scores, curves = detection_tables(
        dict(zip(snakemake.params.seeds, truths, strict=True)),
        [load_values(path) for path in snakemake.input.values],
        columns_of(snakemake.wildcards),
        snakemake.params.minimum_flagged,
    )
    write_csv(snakemake.output.scores, scores)
    write_csv(snakemake.output.curves, curves)
