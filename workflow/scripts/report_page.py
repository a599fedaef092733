"""Write the report as one HTML page."""

from pathlib import Path

from nddv.reporting.contents import read_report
from nddv.reporting.page import environment, run_records, write_page
from nddv.support.files import read_csv
from nddv.support.jobs import log_to


def main(report_path, schema_path, claims_path, table_paths, figure_paths, record, runs, html_path):
    write_page(
        html_path,
        read_report(report_path, schema_path),
        read_csv(claims_path),
        {Path(path).stem: path for path in table_paths},
        {Path(path).stem: path for path in figure_paths},
        record,
        runs,
    )


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.report,
            snakemake.input.schema,
            snakemake.input.claims,
            snakemake.input.get("tables", []),
            snakemake.input.get("figures", []),
            environment(snakemake.params.config, snakemake.params.seeds),
            run_records("results/benchmarks", without=[snakemake.rule]),
            snakemake.output[0],
        )
