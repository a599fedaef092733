"""Make the problems of all seeds of one data set, size and corruption."""

from pathlib import Path

from nddv.problems import load_table, make_problem, save_problem, save_truth
from nddv.support.jobs import log_to


def main(folder, n, corruption, options, seeds, problem_paths, truth_paths):
    table = load_table(folder)
    for seed, problem_path, truth_path in zip(seeds, problem_paths, truth_paths, strict=True):
        problem, truth = make_problem(table, n, corruption, seed, **options)
        save_problem(problem_path, problem)
        save_truth(truth_path, truth)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            Path(snakemake.input.labels).parent,
            int(snakemake.wildcards.n),
            snakemake.wildcards.corruption,
            snakemake.params.options,
            snakemake.params.seeds,
            snakemake.output.problems,
            snakemake.output.truths,
        )
