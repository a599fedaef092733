"""Time one method at one size, alone, several times where it is quick."""

from nddv.support.files import write_csv
from nddv.support.jobs import hide_gpus, job
from nddv.timing.runs import time_repeats

with job(snakemake):
    hide_gpus()  # seconds of methods compare only on one kind of device
    rows = time_repeats(
        method=snakemake.wildcards.method,
        n=int(snakemake.wildcards.n),
        features=int(snakemake.wildcards.features),
        valid=snakemake.wildcards.valid,
        settings=snakemake.params.settings,
        **snakemake.params.options,
    )
    write_csv(snakemake.output.rows, rows)
