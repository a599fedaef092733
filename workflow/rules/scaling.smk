"""Run times on synthetic data, one file a timing. Each has the machine to itself."""


rule time_method:
    output:
        rows=f"results/timings/{TIMING}.csv",
    log:
        f"results/logs/time_method/{TIMING}.log",
    benchmark:
        f"results/benchmarks/time_method/{TIMING}.tsv"
    wildcard_constraints:
        method="[a-z][a-z-]*",
    conda:
        "../../envs/torch.yaml"
    # All cores of this machine, so that nothing runs beside it; the method uses as many as configured.
    # None where nothing is to be run, as with --unlock.
    threads: workflow.resource_settings.cores or 1
    resources:
        # libraries, and the data in single and double precision with copies
        mem_mb=growing(
            lambda wildcards: 2000
            + 24 * int(wildcards.n) * int(wildcards.features) // 10**6
        ),
        runtime=lambda wildcards: PLAN.timings.minutes(TIMING.format(**wildcards)),
    params:
        options=lambda wildcards: PLAN.timings.options(TIMING.format(**wildcards)),
        settings=lambda wildcards: PLAN.settings(wildcards.method),
        sources=lambda wildcards: method_sources(wildcards, "timing.runs"),
    message:
        "Time of {wildcards.method}, n={wildcards.n}, {wildcards.features} features, validation rows: {wildcards.valid}"
    script:
        "../scripts/time_method.py"


# OpenDataVal needs other versions: an environment of its own.
use rule time_method as time_opendataval with:
    wildcard_constraints:
        method="odv:[A-Za-z]+",
    conda:
        "../../envs/opendataval.yaml"
