"""Draw the certificates of pairs under label noise, by log-likelihood."""

import pandas as pd

from nddv.files import log_to
from nddv.reporting.certificates import certificate_figure
from nddv.reporting.figures import save_figure

if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        rows = pd.concat([pd.read_csv(path) for path in snakemake.input.rows], ignore_index=True)
        shown = rows[(rows["utility"] == "log_likelihood") & (rows["corruption"] != "clean")]
        save_figure(certificate_figure(shown), list(snakemake.output))
