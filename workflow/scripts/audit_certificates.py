"""Certify pairs of points of one problem against its semi-values."""

from nddv.audit.marginals import from_arrays
from nddv.audit.run import audit_certificates
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import load_arrays, write_csv
from nddv.support.jobs import job
from nddv.values import load_values

with job(snakemake):
    address = columns_of(snakemake.wildcards)
    rows = audit_certificates(
        load_problem(snakemake.input.problem),
        address["seed"],
        {values.record["method"]: values for values in map(load_values, snakemake.input.values)},
        from_arrays(load_arrays(snakemake.input.marginals)),
        **snakemake.params.settings,
    )
    write_csv(snakemake.output.rows, rows.assign(**address))
