"""Write the table of NDDV with one setting changed at a time."""

from pathlib import Path

from nddv.reporting.sensitivity import sensitivity_table, write_sensitivity
from nddv.reporting.tables import Provenance
from nddv.support.files import read_csv
from nddv.support.jobs import log_to


def main(scores_path, defaults, provenance, csv_path):
    table = sensitivity_table(read_csv(scores_path), defaults)
    write_sensitivity(Path(csv_path).with_suffix(""), table, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.scores,
            snakemake.params.defaults,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
