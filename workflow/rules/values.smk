"""Values: one score per training point. A job takes all seeds of a problem."""


# Fitted together, the seeds share a start of some seconds, and a part of every operation.
rule value_nddv:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
    output:
        values=for_seeds(f"results/values/{ADDRESS}/{{method}}.npz", method=OF_CLASSES),
        records=for_seeds(
            f"results/values/{ADDRESS}/{{method}}.json", method=OF_CLASSES
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
        methods=OF_CLASSES,
        seeds=SEEDS,
        settings=NDDV_SETTINGS,
        sources=source_hash("methods.valuation", "estimator.nddv"),
    message:
        "NDDV on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/value_nddv.py"


# Real-valued targets have other readouts.
use rule value_nddv as value_nddv_targets with:
    output:
        values=for_seeds(f"results/values/{ADDRESS}/{{method}}.npz", method=OF_TARGETS),
        records=for_seeds(
            f"results/values/{ADDRESS}/{{method}}.json", method=OF_TARGETS
        ),
    log:
        f"results/logs/value_nddv_targets/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/value_nddv_targets/{PROBLEM}.tsv"
    wildcard_constraints:
        dataset=WITH_TARGETS or "none",
    params:
        methods=OF_TARGETS,


ruleorder: value_nddv_targets > value_nddv


# A readout with one setting changed. Each is a job of its own: the usual settings differ between readouts.
use rule value_nddv as value_variant with:
    output:
        values=for_seeds(f"results/values/{ADDRESS}/{{method}}:{{change}}.npz"),
        records=for_seeds(f"results/values/{ADDRESS}/{{method}}:{{change}}.json"),
    log:
        f"results/logs/value_variant/{PROBLEM}/{{method}}:{{change}}.log",
    benchmark:
        f"results/benchmarks/value_variant/{PROBLEM}/{{method}}:{{change}}.tsv"
    wildcard_constraints:
        method="|".join(VARIANT_READOUTS),
    params:
        methods=lambda wildcards: [f"{wildcards.method}:{wildcards.change}"],
    message:
        "{wildcards.method} with {wildcards.change} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"


# A readout that replays runs takes longer than all the others together: only where it is asked for.
use rule value_nddv as value_replayed with:
    output:
        values=for_seeds(f"results/values/{ADDRESS}/{{method}}.npz"),
        records=for_seeds(f"results/values/{ADDRESS}/{{method}}.json"),
    log:
        f"results/logs/value_replayed/{PROBLEM}/{{method}}.log",
    benchmark:
        f"results/benchmarks/value_replayed/{PROBLEM}/{{method}}.tsv"
    wildcard_constraints:
        method="|".join(REPLAYED_READOUTS),
    params:
        methods=lambda wildcards: [wildcards.method],
    message:
        "{wildcards.method} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"


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
        method="|".join(name for name in PLAN.baselines if name not in BOOSTED)
        or "none",
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
    params:
        methods=lambda wildcards: [wildcards.method],
        seeds=SEEDS,
        settings=lambda wildcards: PLAN.settings(wildcards.method),
        sources=method_sources,
    message:
        "{wildcards.method} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/value_baseline.py"


# These read the same trees, whose fits take nearly all of their time: one job gives the values of all.
if BOOSTED:

    use rule value_baseline as value_boosting with:
        output:
            values=for_seeds(f"results/values/{ADDRESS}/{{method}}.npz", method=BOOSTED),
            records=for_seeds(
                f"results/values/{ADDRESS}/{{method}}.json", method=BOOSTED
            ),
        log:
            f"results/logs/value_boosting/{PROBLEM}.log",
        benchmark:
            f"results/benchmarks/value_boosting/{PROBLEM}.tsv"
        params:
            methods=BOOSTED,
            seeds=SEEDS,
            settings=PLAN.settings("boosting"),
            sources=source_hash(
                *(module for name in BOOSTED for module in get_method(name).modules)
            ),
        message:
            "Boosting on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"


# cleanlab is an extra.
use rule value_baseline as value_cleanlab with:
    wildcard_constraints:
        method="cleanlab:[a-z_]+",
    conda:
        "../../envs/cleanlab.yaml"


# OpenDataVal needs other versions: an environment of its own.
use rule value_baseline as value_opendataval with:
    wildcard_constraints:
        method="odv:[A-Za-z]+",
    conda:
        "../../envs/opendataval.yaml"
