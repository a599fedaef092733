"""Write the detection table of all problems."""

from pathlib import Path

import pandas as pd

from nddv.files import log_to
from nddv.reporting.detection import detection_table, read_published, write_detection
from nddv.reporting.tables import Provenance

TITLE = "Detection of corrupted training points"


def main(scores_paths, published_path, gaps, provenance, csv_path):
    scores = pd.concat([pd.read_csv(path) for path in scores_paths], ignore_index=True)
    table = detection_table(scores, read_published(published_path), gaps)
    write_detection(Path(csv_path).with_suffix(""), table, TITLE, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.scores,
            snakemake.input.published,
            snakemake.params.gaps,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
