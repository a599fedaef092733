"""Fit NDDV with one setting changed to the problems of all seeds."""

from itertools import product

from nddv.files import log_to, save_values
from nddv.problems import load_problem
from nddv.valuation import nddv_values_or_gaps


def main(problem_paths, seeds, methods, settings, values_paths):
    found = {
        seed: nddv_values_or_gaps(load_problem(path), seed, methods, **settings)
        for path, seed in zip(problem_paths, seeds, strict=True)
    }
    for (method, seed), path in zip(product(methods, seeds), values_paths, strict=True):
        save_values(path, found[seed][method])


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problems,
            snakemake.params.seeds,
            [f"{readout}:{snakemake.wildcards.change}" for readout in snakemake.params.readouts],
            snakemake.params.settings,
            snakemake.output.values,
        )
