"""Draw a figure of the catalogue."""

from nddv.reporting.figures.style import save_figure
from nddv.reporting.inputs import read_inputs
from nddv.reporting.titles import OTHERS
from nddv.support.jobs import log_to


def main(entry, paths, facts, methods, figure_paths):
    frames = read_inputs(paths)
    if methods is not None:
        # Rows that are of no method, as those of random orders, are for comparison.
        for name, frame in frames.items():
            if "method" in frame:
                frames[name] = frame[frame["method"].isin([*methods, *OTHERS])]
    save_figure(entry.load()(**frames, **facts), figure_paths)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.params.entry,
            dict(snakemake.input.items()),
            snakemake.params.facts,
            snakemake.params.methods,
            list(snakemake.output),
        )
