"""Turn the fetched files of a data set into numbers; documents and pictures through an encoder."""

from pathlib import Path

from nddv.problems.datasets import Files, load_dataset, summary
from nddv.problems.tables import save_table
from nddv.support.files import read_json, write_json
from nddv.support.jobs import job

with job(snakemake):
    name, entry = snakemake.wildcards.dataset, snakemake.params.entry
    files = Files.again(name, read_json(snakemake.input.files))
    table = load_dataset(name, entry, snakemake.params.encoder, files=files)
    save_table(Path(snakemake.output.summary).parent, table)
    write_json(snakemake.output.summary, summary(table, entry))
