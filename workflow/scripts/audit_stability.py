"""Run one of the stability checks."""

from nddv.audit.stability import CHECKS
from nddv.files import log_to, write_csv

if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        rows = CHECKS[snakemake.wildcards.check](seed=snakemake.params.seed)
        write_csv(snakemake.output.rows, rows)
