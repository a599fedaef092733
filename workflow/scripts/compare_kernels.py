"""Compare the kernels of KAN layers: their shapes, and what networks made of them learn."""

from nddv.anatomy.kernels import Comparison, compare_regressions, kernel_curves
from nddv.support.files import write_csv
from nddv.support.jobs import job

with job(snakemake):
    seed, settings = snakemake.params.seed, Comparison(**snakemake.params.settings)
    write_csv(snakemake.output.curves, kernel_curves(seed))
    write_csv(snakemake.output.regressions, compare_regressions(seed, settings=settings))
