"""Retrain on the coalitions of one problem: its reference marginals, and what they certify."""

from nddv.audit.marginals import audit_marginals, to_arrays
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import save_arrays, write_csv, write_json
from nddv.support.jobs import job

with job(snakemake):
    problem, seed = load_problem(snakemake.input.problem), int(snakemake.wildcards.seed)
    marginals, shares, record = audit_marginals(problem, seed, **snakemake.params.settings)
    save_arrays(snakemake.output.marginals, **to_arrays(marginals))
    write_csv(snakemake.output.shares, shares.assign(**columns_of(snakemake.wildcards)))
    write_json(snakemake.output.record, record)
