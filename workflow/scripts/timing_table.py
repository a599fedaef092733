"""Write one table of run times."""

from pathlib import Path

import pandas as pd

from nddv.reporting.tables import read_frame
from nddv.reporting.timing import EXTRAPOLATED, timing_table, write_timing
from nddv.support.jobs import log_to


def main(name, rows_paths, published_path, config, threads, csv_path):
    rows = read_frame(rows_paths)
    published = pd.read_csv(published_path, comment="#") if published_path else None
    table = timing_table(rows, published, EXTRAPOLATED[name])
    write_timing(Path(csv_path).with_suffix(""), name, table, config, threads)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.wildcards.timing,
            snakemake.input.rows,
            snakemake.input.get("published"),
            snakemake.params.config,
            snakemake.params.threads,
            snakemake.output.csv,
        )
