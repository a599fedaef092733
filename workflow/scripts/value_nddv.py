"""Fit NDDV once to a problem and write the values of every readout."""

from nddv.files import log_to, save_values
from nddv.problems import load_problem
from nddv.valuation import nddv_values_or_gaps


def main(problem_path, seed, methods, settings, values_paths):
    values = nddv_values_or_gaps(load_problem(problem_path), seed, methods, **settings)
    for method, path in zip(methods, values_paths, strict=True):
        save_values(path, values[method])


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problem,
            int(snakemake.wildcards.seed),
            snakemake.params.methods,
            snakemake.params.settings,
            snakemake.output.values,
        )
