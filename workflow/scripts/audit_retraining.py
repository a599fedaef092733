"""Audit the values of one problem against exact retraining of the NDDV model."""

from nddv.audit.run import audit_retraining
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import load_values, write_csv
from nddv.support.jobs import hide_gpus_unless, log_to


def main(problem_path, values_paths, address, nddv, settings, outputs):
    values = {one.record["method"]: one for one in map(load_values, values_paths)}
    problem = load_problem(problem_path)
    found = audit_retraining(problem, address["seed"], values, nddv, **settings)
    for name, path in outputs.items():
        write_csv(path, found[name].assign(**address))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        main(
            snakemake.input.problem,
            snakemake.input.values,
            columns_of(dict(snakemake.wildcards.items())),
            snakemake.params.nddv,
            snakemake.params.settings,
            dict(snakemake.output.items()),
        )
