"""Values: one score per training point. A job takes all seeds of a problem."""


# Fitted together, the seeds share a start of some seconds, and a part of every operation.
rule value_nddv:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
    output:
        values=expand(
            f"results/values/{ADDRESS}/{{method}}.npz",
            method=NDDV_METHODS,
            seed=SEEDS,
            allow_missing=True,
        ),
        records=expand(
            f"results/values/{ADDRESS}/{{method}}.json",
            method=NDDV_METHODS,
            seed=SEEDS,
            allow_missing=True,
        ),
    log:
        f"results/logs/value_nddv/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/value_nddv/{PROBLEM}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(20),
        gpu=1,
    params:
        methods=NDDV_METHODS,
        seeds=SEEDS,
        settings=config["settings"]["nddv"],
        settings_hash=config_hash(config["settings"]["nddv"]),
        sources=source_hash("methods.valuation", "estimator.together"),
    message:
        "NDDV on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/value_nddv.py"


# NDDV with one setting changed.
use rule value_nddv as value_variant with:
    output:
        values=expand(
            f"results/values/{ADDRESS}/{{readout}}:{{change}}.npz",
            readout=VARIANT_READOUTS,
            seed=SEEDS,
            allow_missing=True,
        ),
        records=expand(
            f"results/values/{ADDRESS}/{{readout}}:{{change}}.json",
            readout=VARIANT_READOUTS,
            seed=SEEDS,
            allow_missing=True,
        ),
    log:
        f"results/logs/value_variant/{PROBLEM}/{{change}}.log",
    benchmark:
        f"results/benchmarks/value_variant/{PROBLEM}/{{change}}.tsv"
    wildcard_constraints:
        change="[a-z_]+=[A-Za-z0-9.+-]+",
    params:
        methods=VARIANT_READOUTS,
        seeds=SEEDS,
        settings=config["settings"]["nddv"],
        settings_hash=config_hash(config["settings"]["nddv"]),
        sources=source_hash("methods.valuation", "estimator.together"),
    message:
        "NDDV with {wildcards.change} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"


rule value_baseline:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
    output:
        values=for_seeds(f"results/values/{ADDRESS}/{{baseline}}.npz"),
        records=for_seeds(f"results/values/{ADDRESS}/{{baseline}}.json"),
    log:
        f"results/logs/value_baseline/{PROBLEM}/{{baseline}}.log",
    benchmark:
        f"results/benchmarks/value_baseline/{PROBLEM}/{{baseline}}.tsv"
    wildcard_constraints:
        baseline="|".join(name for name in BASELINES if ":" not in name) or "none",
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(15),
    params:
        seeds=SEEDS,
        settings=baseline_settings,
        sources=baseline_sources,
    message:
        "{wildcards.baseline} on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/value_baseline.py"


# OpenDataVal needs other versions: an environment of its own.
use rule value_baseline as value_opendataval with:
    wildcard_constraints:
        baseline="odv:[A-Za-z]+",
    conda:
        "../../envs/opendataval.yaml"
