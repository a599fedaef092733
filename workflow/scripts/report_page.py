"""Write the report as one HTML page."""

import os
from pathlib import Path

from nddv.reporting.contents import read_report
from nddv.reporting.page import environment, render_page
from nddv.reporting.writing import write_text
from nddv.support.files import read_csv, read_json, write_json
from nddv.support.jobs import job

with job(snakemake):
    folder = Path(snakemake.output.page).parent
    full = Path(snakemake.input.report).absolute().parents[1] / "reports" / "index.html"
    elsewhere = full.exists() and full.parent.resolve() != folder.resolve()
    record = environment(snakemake.params.provenance)
    page = render_page(
        read_report(snakemake.input.report, snakemake.input.schema),
        snakemake.params.entries,
        {Path(path).stem: read_csv(path) for path in snakemake.input.tables},
        {Path(path).stem: read_json(path)["notes"] for path in snakemake.input.records},
        {Path(path).stem: path for path in snakemake.input.get("figures", [])},
        record,
        folder,
        os.path.relpath(full, folder) if elsewhere else "",
    )
    write_text(snakemake.output.page, page)
    write_json(snakemake.output.environment, record)
