"""Run one of the stability checks."""

from nddv.audit.stability import CHECKS
from nddv.support.files import write_csv
from nddv.support.jobs import log_to

if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        rows = CHECKS[snakemake.wildcards.check](seed=snakemake.params.seed)
        write_csv(snakemake.output.rows, rows)
