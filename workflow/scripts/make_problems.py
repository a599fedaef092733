"""Make the problems of all seeds of one data set, size and corruption."""

from nddv.files import log_to
from nddv.problems import make_problem, save_problem, save_truth


def main(dataset, n, corruption, sizes, seeds, problem_paths, truth_paths):
    for seed, problem_path, truth_path in zip(seeds, problem_paths, truth_paths, strict=True):
        problem, truth = make_problem(dataset, n, corruption, seed, sizes)
        save_problem(problem_path, problem)
        save_truth(truth_path, truth)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.params.dataset,
            int(snakemake.wildcards.n),
            snakemake.wildcards.corruption,
            snakemake.params.sizes,
            snakemake.params.seeds,
            snakemake.output.problems,
            snakemake.output.truths,
        )
