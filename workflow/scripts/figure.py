"""Draw a figure of the catalogue."""

from nddv.reporting.catalogue import FIGURES
from nddv.reporting.figures import save_figure
from nddv.reporting.tables import read_frame
from nddv.support.jobs import log_to


def main(name, frame_paths, methods, options, figure_paths):
    frames = {
        key: read_frame(paths, comment="#" if key == "published" else None)
        for key, paths in frame_paths.items()
    }
    if methods is not None:
        for key, frame in frames.items():
            if "method" in frame:
                frames[key] = frame[frame["method"].isin(methods)]
    save_figure(FIGURES[name].load()(**frames, **options), figure_paths)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.wildcards.figure,
            {
                name: [paths] if isinstance(paths, str) else paths
                for name, paths in snakemake.input.items()
            },
            snakemake.params.methods,
            snakemake.params.options,
            list(snakemake.output),
        )
