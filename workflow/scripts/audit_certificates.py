"""Certify pairs of points of one problem against its semi-values."""

from nddv.audit.marginals import from_arrays
from nddv.audit.run import audit_certificates
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import load_arrays, load_values, write_csv
from nddv.support.jobs import log_to


def main(problem_path, marginals_path, values_paths, address, settings, rows_path):
    values = {one.record["method"]: one for one in map(load_values, values_paths)}
    marginals = from_arrays(load_arrays(marginals_path))
    problem = load_problem(problem_path)
    rows = audit_certificates(problem, address["seed"], values, marginals, **settings)
    write_csv(rows_path, rows.assign(**address))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problem,
            snakemake.input.marginals,
            snakemake.input.values,
            columns_of(dict(snakemake.wildcards.items())),
            snakemake.params.settings,
            snakemake.output.rows,
        )
