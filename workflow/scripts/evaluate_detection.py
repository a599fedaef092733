"""Score the values of all methods and seeds of one problem against the truth."""

from nddv.evaluation.collect import detection_tables
from nddv.problems import load_truth
from nddv.problems.addresses import columns_of
from nddv.support.files import load_values, write_csv
from nddv.support.jobs import log_to


def main(truth_paths, seeds, values_paths, problem, minimum_flagged, scores_path, curves_path):
    truths = dict(zip(seeds, map(load_truth, truth_paths), strict=True))
    values = [load_values(path) for path in values_paths]
    scores, curves = detection_tables(truths, values, problem, minimum_flagged)
    write_csv(scores_path, scores)
    write_csv(curves_path, curves)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.truths,
            snakemake.params.seeds,
            snakemake.input.values,
            columns_of(dict(snakemake.wildcards.items())),
            snakemake.params.minimum_flagged,
            snakemake.output.scores,
            snakemake.output.curves,
        )
