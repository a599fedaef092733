"""Audit the values of one problem against exact retraining of the NDDV model."""

from nddv.audit.run import audit_retraining
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import job
from nddv.values import load_values

with job(snakemake):
    address = columns_of(snakemake.wildcards)
    frames = audit_retraining(
        load_problem(snakemake.input.problem),
        address["seed"],
        {values.record["method"]: values for values in map(load_values, snakemake.input.values)},
        snakemake.params.nddv,
        **snakemake.params.settings,
    )
    for name, path in snakemake.output.items():
        write_csv(path, frames[name].assign(**address))
