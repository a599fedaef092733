"""Draw detection, removal and addition of all problems."""

import pandas as pd

from nddv.files import log_to
from nddv.reporting.curation import curation_figure
from nddv.reporting.figures import save_figure


def main(curves_paths, detection_paths, figure_paths):
    curves = pd.concat([pd.read_csv(path) for path in curves_paths], ignore_index=True)
    detection = pd.concat([pd.read_csv(path) for path in detection_paths], ignore_index=True)
    save_figure(curation_figure(curves, detection), figure_paths)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(snakemake.input.curves, snakemake.input.detection, list(snakemake.output))
