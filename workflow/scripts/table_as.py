"""Write a table that was made as an HTML page or for LaTeX."""

from pathlib import Path

from nddv.reporting.writing import FORMATS, read_text, write_text
from nddv.support.jobs import job

with job(snakemake):
    text = read_text(snakemake.params.entry, snakemake.input.csv, snakemake.input.record)
    write_text(snakemake.output[0], FORMATS[Path(snakemake.output[0]).suffix](text))
