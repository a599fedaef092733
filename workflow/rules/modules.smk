"""Networks trained end to end: values of their replay against exact retraining."""

BESIDE_REPLAY = [get_method(name) for name in config["modules"]["methods"]]


rule compare_modules:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
        truth=f"results/problems/{ADDRESS}/truth.npz",
        features=items_file("features.npy"),
        labels=items_file("labels.npz"),
    output:
        fidelity=f"{MODULES}/fidelity.csv",
        changes=f"{MODULES}/changes.csv",
        costs=f"{MODULES}/costs.csv",
        record=f"{MODULES}/record.json",
    log:
        f"results/logs/compare_modules/{ADDRESS}/{{module}}.log",
    benchmark:
        f"results/benchmarks/compare_modules/{ADDRESS}/{{module}}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    params:
        settings=lambda wildcards: PLAN.training(wildcards.module),
        threads=config["timings"]["threads"],
        sources=source_hash(
            "audit.modules", *(m for beside in BESIDE_REPLAY for m in beside.modules)
        ),
    message:
        "{wildcards.module}, trained on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}, seed {wildcards.seed}"
    script:
        "../scripts/compare_modules.py"
