"""Run one of the stability checks."""

from nddv.audit.stability import CHECKS
from nddv.support.files import write_csv
from nddv.support.jobs import job

with job(snakemake):
    rows = CHECKS[snakemake.wildcards.check](seed=snakemake.params.seed)
    write_csv(snakemake.output.rows, rows)
