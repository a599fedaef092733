"""Evaluation: what the values are good for."""


rule evaluate_detection:
    input:
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
        values=lambda wildcards: values_of(wildcards, ".npz"),
        records=lambda wildcards: values_of(wildcards, ".json"),
    output:
        scores=f"results/evaluation/{PROBLEM}/detection.csv",
        curves=f"results/evaluation/{PROBLEM}/detection_curve.csv",
    log:
        f"results/logs/evaluate_detection/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_detection/{PROBLEM}.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        seeds=SEEDS,
        minimum_flagged=config["detection"]["minimum_flagged"],
        sources=source_hash("problems.problem", "evaluation"),
    message:
        "Detection on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_detection.py"


rule evaluate_curation:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
        values=lambda wildcards: values_of(
            wildcards, ".npz", curated_methods(wildcards)
        ),
        records=lambda wildcards: values_of(
            wildcards, ".json", curated_methods(wildcards)
        ),
    output:
        curves=f"results/evaluation/{PROBLEM}/curation_curve.csv",
        scores=f"results/evaluation/{PROBLEM}/curation.csv",
    log:
        f"results/logs/evaluate_curation/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_curation/{PROBLEM}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    params:
        seeds=SEEDS,
        settings=CURATION_SETTINGS,
        sources=source_hash("problems.problem", "evaluation.curation"),
    message:
        "Removal and addition on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_curation.py"


rule evaluate_groups:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
        values=lambda wildcards: values_of(wildcards, ".npz"),
        records=lambda wildcards: values_of(wildcards, ".json"),
    output:
        groups=f"results/evaluation/{PROBLEM}/groups.csv",
        summary=f"results/evaluation/{PROBLEM}/groups_summary.csv",
    log:
        f"results/logs/evaluate_groups/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_groups/{PROBLEM}.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        seeds=SEEDS,
        step=config["groups"]["step"],
        draws=config["groups"]["draws"],
        sources=source_hash("problems.problem", "evaluation.groups"),
    message:
        "Gaps between groups on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_groups.py"


rule trace_trajectories:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
        truth=f"results/problems/{ADDRESS}/truth.npz",
    output:
        **{
            name: f"results/trajectories/{ADDRESS}/{name}.csv"
            for name in TRAJECTORY_FRAMES
        },
    log:
        f"results/logs/trace_trajectories/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/trace_trajectories/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(20),
        gpu=1,
    params:
        settings=config["settings"]["nddv"],
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
    threads: 1
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
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(20),
        gpu=1,
    params:
        seed=lambda wildcards: int(wildcards.seed),
        settings=config["settings"]["nddv"],
        sources=source_hash("anatomy.controls", "estimator.nddv"),
    message:
        "Coordinate functions of NDDV on {wildcards.dataset}, seed {wildcards.seed}"
    script:
        "../scripts/coordinate_functions.py"
