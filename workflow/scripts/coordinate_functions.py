"""Fit NDDV to a problem and write the coordinate functions of its last control."""

from nddv.anatomy.controls import coordinate_functions
from nddv.problems import load_problem
from nddv.support.files import write_csv
from nddv.support.jobs import hide_gpus_unless, log_to


def main(problem_path, seed, settings, functions_path, states_path, strengths_path):
    tables = coordinate_functions(load_problem(problem_path), seed, settings)
    write_csv(functions_path, tables.functions)
    write_csv(states_path, tables.states)
    write_csv(strengths_path, tables.strengths)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        main(
            snakemake.input.problem,
            int(snakemake.params.seed),
            snakemake.params.settings,
            snakemake.output.functions,
            snakemake.output.states,
            snakemake.output.strengths,
        )
