"""Draw one of the stability checks."""

import pandas as pd

from nddv.files import log_to
from nddv.reporting.figures import save_figure
from nddv.reporting.stability import FIGURES

if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        rows = pd.read_csv(snakemake.input.rows)
        save_figure(FIGURES[snakemake.wildcards.check](rows), list(snakemake.output))
