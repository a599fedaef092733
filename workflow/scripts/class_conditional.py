"""Draw the gaps between classes against the quality of detection."""

import pandas as pd

from nddv.files import log_to
from nddv.reporting.figures import save_figure
from nddv.reporting.groups import class_conditional_figure

if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        paths = snakemake.input.summaries
        rows = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
        save_figure(class_conditional_figure(rows), list(snakemake.output))
