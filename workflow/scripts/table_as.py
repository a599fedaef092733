"""Write a table that was made as an HTML page or for LaTeX."""

from pathlib import Path

from nddv.reporting.writing import FORMATS, read_text, write_text
from nddv.support.jobs import log_to


def main(entry, csv_path, record_path, path):
    write_text(path, FORMATS[Path(path).suffix](read_text(entry, csv_path, record_path)))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.params.entry,
            snakemake.input.csv,
            snakemake.input.record,
            snakemake.output[0],
        )
