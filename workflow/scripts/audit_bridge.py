"""Compute the bridge budget of some points and coalitions of one problem."""

from nddv.audit.run import audit_bridge
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import job

with job(snakemake):
    address = columns_of(snakemake.wildcards)
    problem, params = load_problem(snakemake.input.problem), snakemake.params
    rows = audit_bridge(problem, address["seed"], params.nddv, **params.settings)
    write_csv(snakemake.output.rows, rows.assign(**address))
