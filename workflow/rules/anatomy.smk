"""The anatomy of one run, for the figures that show the method at work."""


rule trace_trajectories:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
        truth=f"results/problems/{ADDRESS}/truth.npz",
    output:
        **{
            name: f"results/trajectories/{ADDRESS}/{name}.csv"
            for name in [*PLAN.shown("trajectories"), "weight_map"]
        },
    log:
        f"results/logs/trace_trajectories/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/trace_trajectories/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(20),
        gpu=1,
    params:
        settings=NDDV_SETTINGS,
        seed=lambda wildcards: int(wildcards.seed),
        sources=source_hash("anatomy.trajectories", "estimator.nddv"),
    message:
        "Trajectories of NDDV on {wildcards.dataset}, seed {wildcards.seed}"
    script:
        "../scripts/trace_trajectories.py"


rule compare_kernels:
    output:
        curves="results/kernels/curves.csv",
        regressions="results/kernels/regressions.csv",
    log:
        "results/logs/compare_kernels.log",
    benchmark:
        "results/benchmarks/compare_kernels.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(20),
    params:
        seed=config["pictures"]["seed"],
        settings=config["pictures"]["regressions"],
        sources=source_hash("anatomy.kernels"),
    message:
        "Regression with Matérn components"
    script:
        "../scripts/compare_kernels.py"


rule coordinate_functions:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
    output:
        functions=f"results/kernels/{ADDRESS}/functions.csv",
        states=f"results/kernels/{ADDRESS}/states.csv",
        strengths=f"results/kernels/{ADDRESS}/strengths.csv",
    log:
        f"results/logs/coordinate_functions/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/coordinate_functions/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(20),
        gpu=1,
    params:
        seed=lambda wildcards: int(wildcards.seed),
        settings=NDDV_SETTINGS,
        sources=source_hash("anatomy.controls", "estimator.nddv"),
    message:
        "Coordinate functions of NDDV on {wildcards.dataset}, seed {wildcards.seed}"
    script:
        "../scripts/coordinate_functions.py"
