"""Compare estimators of the semi-values of one problem at equal time."""

from nddv.problems.addresses import columns_of
from nddv.support.jobs import job, use_threads

with job(snakemake):
    use_threads(snakemake.params.threads)
    from nddv.audit.accuracy import compare_semivalues
    from nddv.problems import load_problem
    from nddv.support.files import write_csv, write_json

    address = columns_of(snakemake.wildcards)
    problem, settings = load_problem(snakemake.input.problem), snakemake.params.settings
    frames, record = compare_semivalues(problem, address["seed"], **settings)
    for name, frame in frames.items():
        write_csv(snakemake.output[name], frame.assign(**address))
    write_json(snakemake.output.record, record)
