"""Compare the values of one problem, over its seeds, with its reference marginals."""

import pandas as pd

from nddv.audit.marginals import from_arrays
from nddv.audit.run import audit_scores
from nddv.problems.addresses import columns_of
from nddv.support.files import load_arrays, load_values, write_csv
from nddv.support.jobs import log_to


def main(marginals_paths, values_paths, seeds, calibration, problem, outputs):
    values = [load_values(path) for path in values_paths]
    parts = {name: [] for name in outputs}
    for seed, path in zip(seeds, marginals_paths, strict=True):
        of_seed = {one.record["method"]: one for one in values if one.record["seed"] == seed}
        found = audit_scores(from_arrays(load_arrays(path)), of_seed, seed, calibration)
        for name in outputs:
            parts[name].append(found[name].assign(**problem, seed=seed))
    for name, path in outputs.items():
        write_csv(path, pd.concat(parts[name], ignore_index=True))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        main(
            snakemake.input.marginals,
            snakemake.input.values,
            snakemake.params.seeds,
            snakemake.params.calibration,
            columns_of(dict(snakemake.wildcards.items())),
            {name: snakemake.output[name] for name in ("errors", "gaps", "ranks")},
        )
