"""Make a table of the catalogue."""

from nddv.reporting.inputs import read_inputs
from nddv.reporting.writing import write_table
from nddv.support.jobs import job

with job(snakemake):
    params, frames = snakemake.params, read_inputs(dict(snakemake.input.items()))
    result = params.entry.load()(**frames, **params.facts)
    write_table(params.entry, result, params.provenance, **dict(snakemake.output.items()))
