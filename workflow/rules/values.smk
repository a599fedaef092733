"""Values: one score per training point. A job takes all seeds of a problem."""


# Fitted together, the seeds share a start of some seconds, and a part of every operation.
rule value_nddv:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
    output:
        values=for_seeds(
            f"results/values/{ADDRESS}/{{method}}.npz", method=PLAN.readouts
        ),
        records=for_seeds(
            f"results/values/{ADDRESS}/{{method}}.json", method=PLAN.readouts
        ),
    log:
        f"results/logs/value_nddv/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/value_nddv/{PROBLEM}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(20),
        gpu=1,
    params:
        methods=PLAN.readouts,
        seeds=SEEDS,
        settings=NDDV_SETTINGS,
        sources=source_hash("methods.valuation", "estimator.nddv"),
    message:
        "NDDV on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/value_nddv.py"


# NDDV with one setting changed.
use rule value_nddv as value_variant with:
    output:
        values=for_seeds(
            f"results/values/{ADDRESS}/{{method}}:{{change}}.npz",
            method=VARIANT_READOUTS,
        ),
        records=for_seeds(
            f"results/values/{ADDRESS}/{{method}}:{{change}}.json",
            method=VARIANT_READOUTS,
        ),
    log:
        f"results/logs/value_variant/{PROBLEM}/{{change}}.log",
    benchmark:
        f"results/benchmarks/value_variant/{PROBLEM}/{{change}}.tsv"
    params:
        methods=VARIANT_READOUTS,
    message:
        "NDDV with {wildcards.change} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"


rule value_baseline:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
    output:
        values=for_seeds(f"results/values/{ADDRESS}/{{method}}.npz"),
        records=for_seeds(f"results/values/{ADDRESS}/{{method}}.json"),
    log:
        f"results/logs/value_baseline/{PROBLEM}/{{method}}.log",
    benchmark:
        f"results/benchmarks/value_baseline/{PROBLEM}/{{method}}.tsv"
    wildcard_constraints:
        method="|".join(PLAN.baselines) or "none",
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(15),
    params:
        seeds=SEEDS,
        settings=lambda wildcards: PLAN.settings(wildcards.method),
        sources=method_sources,
    message:
        "{wildcards.method} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/value_baseline.py"


# OpenDataVal needs other versions: an environment of its own.
use rule value_baseline as value_opendataval with:
    wildcard_constraints:
        method="odv:[A-Za-z]+",
    conda:
        "../../envs/opendataval.yaml"
