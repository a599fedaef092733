"""Estimators of semi-values, compared at equal time. Each problem has the machine to itself."""

COMPARED = [get_method(name) for name in PLAN.comparison["settings"]]


rule compare_semivalues:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
    output:
        accuracy=f"{SEMIVALUES}/accuracy.csv",
        seconds=f"{SEMIVALUES}/seconds.csv",
        shares=f"{SEMIVALUES}/shares.csv",
        record=f"{SEMIVALUES}/record.json",
    log:
        f"results/logs/compare_semivalues/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/compare_semivalues/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    # All cores of this machine, so that nothing runs beside it; see time_method.
    threads: workflow.resource_settings.cores or 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    params:
        settings=PLAN.comparison,
        threads=config["timings"]["threads"],
        sources=source_hash(
            "audit.accuracy", "coalitions", *(m for c in COMPARED for m in c.modules)
        ),
    message:
        "Semi-values of {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}, seed {wildcards.seed}"
    script:
        "../scripts/compare_semivalues.py"
