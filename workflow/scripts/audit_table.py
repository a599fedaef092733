"""Write one table of the audits."""

from pathlib import Path

import pandas as pd

from nddv.reporting.audits import TABLES, cost, write_audit
from nddv.reporting.tables import Provenance, read_frame
from nddv.support.files import read_json
from nddv.support.jobs import log_to


def main(name, title, rows_paths, published_path, gaps, record_paths, provenance, csv_path):
    rows = {kind: read_frame(paths) for kind, paths in rows_paths.items()}
    published = pd.read_csv(published_path, comment="#") if published_path else None
    table = TABLES[name](rows, published, gaps)
    remark = cost([read_json(path) for path in record_paths]) if record_paths else ""
    write_audit(Path(csv_path).with_suffix(""), name, table, title, provenance, remark)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.wildcards.audit,
            snakemake.params.title,
            {kind: snakemake.input[kind] for kind in snakemake.params.kinds},
            snakemake.input.get("published"),
            snakemake.params.gaps,
            snakemake.input.get("records"),
            Provenance(
                snakemake.params.config, snakemake.params.seeds, snakemake.params.corrupt_valid
            ),
            snakemake.output.csv,
        )
