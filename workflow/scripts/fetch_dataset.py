"""Fetch the files of a data set, and its encoder's, and write down where they came from."""

from nddv.problems.datasets import fetch_dataset
from nddv.support.files import write_json
from nddv.support.jobs import job

with job(snakemake):
    params = snakemake.params
    files = fetch_dataset(snakemake.wildcards.dataset, params.entry, params.encoder, params.allowed)
    write_json(snakemake.output[0], files.to_json())
