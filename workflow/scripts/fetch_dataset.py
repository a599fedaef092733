"""Fetch the files of a data set, and its encoder's, and write down where they came from."""

from nddv.problems.datasets import fetch_dataset
from nddv.support.files import write_json
from nddv.support.jobs import log_to


def main(name, entry, encoder, allowed, path):
    write_json(path, fetch_dataset(name, entry, encoder, allowed).to_json())


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.wildcards.dataset,
            snakemake.params.entry,
            snakemake.params.encoder,
            snakemake.params.allowed,
            snakemake.output[0],
        )
