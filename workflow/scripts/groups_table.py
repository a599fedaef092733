"""Write one table of gaps between groups."""

from pathlib import Path

import pandas as pd

from nddv.reporting.groups import TABLES, write_groups
from nddv.reporting.tables import Provenance, read_frame
from nddv.support.jobs import log_to


def main(name, title, summary_paths, published_path, gaps, provenance, csv_path):
    rows = read_frame(summary_paths)
    published = pd.read_csv(published_path, comment="#")
    table = TABLES[name](rows, published, gaps)
    write_groups(Path(csv_path).with_suffix(""), name, table, title, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.wildcards.table,
            snakemake.params.title,
            snakemake.input.summaries,
            snakemake.input.published,
            snakemake.params.gaps,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
