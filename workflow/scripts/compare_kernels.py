"""Compare the kernels of KAN layers: their shapes, and what networks made of them learn."""

from nddv.evaluation.kernels import compare_regressions, kernel_curves
from nddv.files import log_to, write_csv


def main(seed, curves_path, regressions_path):
    write_csv(curves_path, kernel_curves(seed))
    write_csv(regressions_path, compare_regressions(seed))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(snakemake.params.seed, snakemake.output.curves, snakemake.output.regressions)
