"""Turn the fetched files of a data set into numbers; documents and pictures through an encoder."""

from pathlib import Path

from nddv.problems.datasets import Files, load_dataset, summary
from nddv.problems.tables import save_table
from nddv.support.files import read_json, write_json
from nddv.support.jobs import hide_gpus_unless, log_to


def main(name, entry, encoder, files_path, summary_path):
    files = Files.again(name, read_json(files_path))
    table = load_dataset(name, entry, encoder, files=files)
    save_table(Path(summary_path).parent, table)
    write_json(summary_path, summary(table, entry))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        main(
            snakemake.params.name,
            snakemake.params.entry,
            snakemake.params.encoder,
            snakemake.input.files,
            snakemake.output.summary,
        )
