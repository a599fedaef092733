"""Make a table of the catalogue."""

from nddv.reporting.inputs import read_inputs
from nddv.reporting.writing import write_table
from nddv.support.jobs import log_to


def main(entry, paths, facts, provenance, **files):
    result = entry.load()(**read_inputs(paths), **facts)
    write_table(entry, result, provenance, **files)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.params.entry,
            dict(snakemake.input.items()),
            snakemake.params.facts,
            snakemake.params.provenance,
            **dict(snakemake.output.items()),
        )
