"""Write the table of removal and addition of all problems."""

from pathlib import Path

from nddv.reporting.curation import curation_table, write_curation
from nddv.reporting.tables import Provenance, read_frame
from nddv.support.jobs import log_to

TITLE = "Removing and adding points by value"


def main(scores_paths, gaps, provenance, csv_path):
    scores = read_frame(scores_paths)
    write_curation(Path(csv_path).with_suffix(""), curation_table(scores, gaps), TITLE, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.scores,
            snakemake.params.gaps,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
