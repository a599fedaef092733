"""Train a network on the items of one problem, and hold values of its points against retraining."""

from pathlib import Path

from nddv.problems.addresses import columns_of
from nddv.support.jobs import job, use_threads

with job(snakemake):
    use_threads(snakemake.params.threads)
    from nddv.audit.modules import compare_modules
    from nddv.problems import load_problem, load_table, load_truth
    from nddv.support.files import write_csv, write_json

    problem, truth = load_problem(snakemake.input.problem), load_truth(snakemake.input.truth)
    items, module = load_table(Path(snakemake.input.labels).parent), snakemake.wildcards.module
    settings = snakemake.params.settings
    frames, record = compare_modules(problem, truth, items, module, **settings)
    for name, frame in frames.items():
        about = {**columns_of(snakemake.wildcards), "module": module}
        write_csv(snakemake.output[name], frame.assign(**about))
    write_json(snakemake.output.record, record)
