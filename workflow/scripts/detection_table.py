"""Write a table of detection: the problems and methods of one experiment."""

from pathlib import Path

from nddv.reporting.detection import (
    detection_table,
    read_published,
    select_methods,
    write_detection,
)
from nddv.reporting.tables import Provenance, read_frame
from nddv.support.jobs import log_to


def main(scores_paths, published_path, methods, gaps, title, across, provenance, csv_path):
    scores = select_methods(read_frame(scores_paths), methods)
    published = read_published(published_path) if published_path else None
    table = detection_table(scores, published, gaps)
    write_detection(Path(csv_path).with_suffix(""), table, title, across, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.get("scores", []),
            snakemake.input.get("published"),
            snakemake.params.methods,
            snakemake.params.gaps,
            snakemake.params.title,
            snakemake.params.across,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
