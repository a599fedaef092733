"""Gaps between groups, of the values of all methods and seeds of one problem."""

from nddv.evaluation.groups import group_tables
from nddv.problems import load_problem, load_truth
from nddv.problems.addresses import columns_of
from nddv.support.files import load_values, write_csv
from nddv.support.jobs import log_to


def main(
    problem_paths, truth_paths, seeds, values_paths, address, step, draws, groups_path, summary_path
):
    problems = dict(zip(seeds, map(load_problem, problem_paths), strict=True))
    truths = dict(zip(seeds, map(load_truth, truth_paths), strict=True))
    values = [load_values(path) for path in values_paths]
    groups, summary = group_tables(problems, truths, values, address, step, draws)
    write_csv(groups_path, groups)
    write_csv(summary_path, summary)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problems,
            snakemake.input.truths,
            snakemake.params.seeds,
            snakemake.input.values,
            columns_of(dict(snakemake.wildcards.items())),
            snakemake.params.step,
            snakemake.params.draws,
            snakemake.output.groups,
            snakemake.output.summary,
        )
