"""Write the verdict on every claim of the paper."""

from pathlib import Path

from nddv.reporting.claims import read_claims
from nddv.reporting.verdicts import claims_table, write_claims
from nddv.support.files import read_csv
from nddv.support.jobs import log_to


def main(claims_path, schema_path, table_paths, csv_path):
    claims = read_claims(claims_path, schema_path)
    tables = {Path(path).stem: read_csv(path) for path in table_paths}
    write_claims(Path(csv_path).with_suffix(""), claims_table(claims, tables))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.claims,
            snakemake.input.schema,
            snakemake.input.get("tables", []),
            snakemake.output.csv,
        )
