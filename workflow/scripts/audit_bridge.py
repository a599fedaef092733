"""Compute the bridge budget of some points and coalitions of one problem."""

from nddv.audit.run import audit_bridge
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import write_csv
from nddv.support.jobs import hide_gpus_unless, log_to


def main(problem_path, address, nddv, settings, rows_path):
    rows = audit_bridge(load_problem(problem_path), address["seed"], nddv, **settings)
    write_csv(rows_path, rows.assign(**address))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        main(
            snakemake.input.problem,
            columns_of(dict(snakemake.wildcards.items())),
            snakemake.params.nddv,
            snakemake.params.settings,
            snakemake.output.rows,
        )
