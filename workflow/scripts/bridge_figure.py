"""Draw the bridge budgets of all problems and seeds."""

import pandas as pd

from nddv.files import log_to
from nddv.reporting.bridge import bridge_figure
from nddv.reporting.figures import save_figure

if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        rows = pd.concat([pd.read_csv(path) for path in snakemake.input.rows], ignore_index=True)
        save_figure(bridge_figure(rows), list(snakemake.output))
