"""Draw the detection curves of all problems."""

import pandas as pd

from nddv.files import log_to
from nddv.reporting.figures import detection_curves, save_figure


def main(scores_paths, curves_paths, figure_paths):
    scores = pd.concat([pd.read_csv(path) for path in scores_paths], ignore_index=True)
    curves = pd.concat([pd.read_csv(path) for path in curves_paths], ignore_index=True)
    save_figure(detection_curves(curves, scores), figure_paths)


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(snakemake.input.scores, snakemake.input.curves, list(snakemake.output))
