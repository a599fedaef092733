"""Fit NDDV to the problems of all seeds together, and write the values of every readout."""

from itertools import product

from nddv.methods.valuation import nddv_values_or_gaps
from nddv.problems import load_problem
from nddv.support.files import save_values
from nddv.support.jobs import hide_gpus_unless, log_to


def main(problem_paths, seeds, methods, settings, values_paths):
    problems = [load_problem(path) for path in problem_paths]
    found = nddv_values_or_gaps(problems, seeds, methods, **settings)
    for (method, values), path in zip(product(methods, found), values_paths, strict=True):
        save_values(path, values[method])


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        change = snakemake.wildcards.get("change")
        main(
            snakemake.input.problems,
            snakemake.params.seeds,
            [f"{name}:{change}" if change else name for name in snakemake.params.methods],
            snakemake.params.settings,
            snakemake.output.values,
        )
