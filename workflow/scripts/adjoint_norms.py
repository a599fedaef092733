"""Write how far the co-states of NDDV grow, of all main problems and seeds."""

from pathlib import Path

from nddv.reporting.adjoints import adjoint_norms, write_adjoint_norms
from nddv.reporting.tables import Provenance
from nddv.support.files import read_json
from nddv.support.jobs import log_to

TITLE = "Growth of the co-states"


def main(record_paths, provenance, csv_path):
    table = adjoint_norms([read_json(path) for path in record_paths])
    write_adjoint_norms(Path(csv_path).with_suffix(""), table, TITLE, provenance)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.records,
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
