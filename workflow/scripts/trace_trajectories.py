"""Fit NDDV to a problem and write what happens inside the run, as tables."""

from nddv.anatomy.trajectories import significant, trace_run
from nddv.problems import load_problem, load_truth
from nddv.support.files import write_csv
from nddv.support.jobs import hide_gpus_unless, log_to


def main(problem_path, truth_path, seed, settings, paths):
    found = trace_run(load_problem(problem_path), load_truth(truth_path), seed, settings)
    for name, path in paths.items():
        write_csv(path, significant(getattr(found, name)))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        main(
            snakemake.input.problem,
            snakemake.input.truth,
            int(snakemake.params.seed),
            snakemake.params.settings,
            dict(snakemake.output.items()),
        )
