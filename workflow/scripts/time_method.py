"""Time one method at one size, alone, several times where it is quick."""

from nddv.support.files import write_csv
from nddv.support.jobs import hide_gpus_unless, log_to
from nddv.timing.runs import time_repeats


def main(wildcards, options, path):
    problem = {
        "method": wildcards["method"],
        "n": int(wildcards["n"]),
        "features": int(wildcards["features"]),
        "valid": wildcards["valid"],
    }
    write_csv(path, time_repeats(**problem, **options))


if __name__ == "__main__":
    with log_to(snakemake.log[0]):
        hide_gpus_unless(snakemake.resources.get("gpu", 0))
        main(dict(snakemake.wildcards.items()), snakemake.params.options, snakemake.output.rows)
