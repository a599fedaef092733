"""Run times on synthetic data, and their tables. A timing has the machine to itself."""


rule time_method:
    output:
        rows=f"results/timings/{TIMING}.csv",
    log:
        f"results/logs/time_method/{TIMING}.log",
    benchmark:
        f"results/benchmarks/time_method/{TIMING}.tsv"
    wildcard_constraints:
        method="[a-z][a-z-]*",
        features=r"\d+",
        valid="fixed|tenth|none",
    conda:
        "../../envs/torch.yaml"
    # All cores of this machine, so that nothing runs beside it; the method uses as many as configured.
    threads: ALL_CORES
    resources:
        mem_mb=growing(timing_memory),
        runtime=timing_minutes,
    params:
        options=timing_options,
        sources=timing_sources,
    message:
        "Time of {wildcards.method}, n={wildcards.n}, {wildcards.features} features, validation rows: {wildcards.valid}"
    script:
        "../scripts/time_method.py"


# OpenDataVal needs other versions: an environment of its own.
use rule time_method as time_opendataval with:
    wildcard_constraints:
        method="odv:[A-Za-z]+",
        features=r"\d+",
        valid="fixed|tenth|none",
    conda:
        "../../envs/opendataval.yaml"


rule timing_table:
    input:
        unpack(timing_table_input),
    output:
        csv="reports/tables/{timing}.csv",
        markdown="reports/tables/{timing}.md",
        html=report(
            "reports/tables/{timing}.html",
            category="Run time",
            labels={"content": "{timing}"},
        ),
        tex="reports/tables/{timing}.tex",
    log:
        "results/logs/timing_table/{timing}.log",
    benchmark:
        "results/benchmarks/timing_table/{timing}.tsv"
    wildcard_constraints:
        timing="|".join(TIMING_TABLES),
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        threads=TIMINGS["threads"],
        config=config_hash([TIMINGS, config["settings"]]),
        sources=source_hash("reporting.timing"),
    message:
        "Table {wildcards.timing}"
    script:
        "../scripts/timing_table.py"
