"""Value the problems of all seeds with one baseline."""

from nddv.methods.valuation import value_or_gap
from nddv.problems import load_problem
from nddv.support.files import save_values
from nddv.support.jobs import log_to


def main(problem_paths, seeds, method, settings, values_paths):
    for problem_path, seed, path in zip(problem_paths, seeds, values_paths, strict=True):
        save_values(path, value_or_gap(method, load_problem(problem_path), seed, **settings))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problems,
            snakemake.params.seeds,
            snakemake.wildcards.baseline,
            snakemake.params.settings,
            snakemake.output.values,
        )
