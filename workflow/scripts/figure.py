"""Draw a figure of the catalogue."""

from nddv.reporting.figures.style import save_figure
from nddv.reporting.inputs import read_inputs
from nddv.reporting.titles import OTHERS
from nddv.support.jobs import job

with job(snakemake):
    params, frames = snakemake.params, read_inputs(dict(snakemake.input.items()))
    if params.methods is not None:
        # Rows that are of no method, as those of random orders, are for comparison.
        for name, frame in frames.items():
            if "method" in frame:
                frames[name] = frame[frame["method"].isin([*params.methods, *OTHERS])]
    save_figure(params.entry.load()(**frames, **params.facts), list(snakemake.output))
