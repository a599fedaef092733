"""Write the readouts of NDDV beside the best baseline of every main problem."""

from pathlib import Path

from nddv.reporting.leaders import leaders, write_leaders
from nddv.reporting.tables import Provenance, read_frame
from nddv.support.jobs import log_to

TITLE = "NDDV beside the best baseline"


def main(scores_paths, methods, provenance, csv_path):
    scores = read_frame(scores_paths)
    table = leaders(scores[scores["method"].isin(methods)])
    write_leaders(Path(csv_path).with_suffix(""), table, TITLE, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.scores,
            snakemake.params.methods,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
