"""Remove and add the points of one problem, over its seeds, by the values of all methods."""

from nddv.evaluation.curation import curation_tables
from nddv.problems import load_problem
from nddv.problems.addresses import columns_of
from nddv.support.files import load_values, write_csv
from nddv.support.jobs import log_to


def main(problem_paths, seeds, values_paths, problem, settings, curves_path, scores_path):
    problems = dict(zip(seeds, map(load_problem, problem_paths), strict=True))
    values = [load_values(path) for path in values_paths]
    curves, scores = curation_tables(problems, values, problem, **settings)
    write_csv(curves_path, curves)
    write_csv(scores_path, scores)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.problems,
            snakemake.params.seeds,
            snakemake.input.values,
            columns_of(dict(snakemake.wildcards.items())),
            snakemake.params.get("settings", {}),
            snakemake.output.curves,
            snakemake.output.scores,
        )
