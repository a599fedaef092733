"""Retrain on the coalitions of one problem: its reference marginals, and what they cost."""

from nddv.audit.marginals import audit_marginals, to_arrays
from nddv.problems import load_problem
from nddv.support.files import save_arrays, write_json
from nddv.support.jobs import log_to


def main(problem_path, seed, settings, marginals_path, record_path):
    marginals, record = audit_marginals(load_problem(problem_path), seed, **settings)
    save_arrays(marginals_path, **to_arrays(marginals))
    write_json(record_path, record)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problem,
            int(snakemake.wildcards.seed),
            snakemake.params.settings,
            snakemake.output.marginals,
            snakemake.output.record,
        )
