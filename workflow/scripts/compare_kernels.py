"""Compare the kernels of KAN layers: their shapes, and what networks made of them learn."""

from nddv.anatomy.kernels import Comparison, compare_regressions, kernel_curves
from nddv.support.files import write_csv
from nddv.support.jobs import log_to


def main(seed, settings, curves_path, regressions_path):
    write_csv(curves_path, kernel_curves(seed))
    regressions = compare_regressions(seed, settings=Comparison(**settings))
    write_csv(regressions_path, regressions)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.params.seed,
            snakemake.params.settings,
            snakemake.output.curves,
            snakemake.output.regressions,
        )
