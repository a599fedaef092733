"""Write the table of data sets."""

from pathlib import Path

from nddv.problems.sizes import part_sizes
from nddv.reporting.datasets import dataset_table, format_datasets, read_published_datasets
from nddv.reporting.tables import write_table
from nddv.support.files import read_json
from nddv.support.jobs import log_to

TITLE = "Data sets"
FOOTNOTE = (
    "Rows, dimension and smallest class are measured after loading. Checksum: whether the content "
    "was compared with a known SHA-256. Configuration {config}."
)


def main(summary_paths, published_path, problems, sizes, gaps, config, csv_path):
    measured = [read_json(path) for path in summary_paths]
    needed = [(one["dataset"], one["n"], part_sizes(one["n"], sizes)) for one in problems]
    table = dataset_table(measured, needed, read_published_datasets(published_path), gaps)
    stem = Path(csv_path).with_suffix("")
    footnote = FOOTNOTE.format(config=config)
    write_table(stem, table.assign(config=config), format_datasets(table), TITLE, footnote)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.summaries,
            snakemake.input.published,
            snakemake.params.problems,
            snakemake.params.sizes,
            snakemake.params.gaps,
            snakemake.params.config,
            snakemake.output.csv,
        )
