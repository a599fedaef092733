"""Evaluation: what the values are good for."""


rule evaluate_detection:
    input:
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
        values=values_of_problem(".npz"),
        records=values_of_problem(".json"),
    output:
        scores=f"results/evaluation/{PROBLEM}/detection.csv",
        curves=f"results/evaluation/{PROBLEM}/detection_curve.csv",
    log:
        f"results/logs/evaluate_detection/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_detection/{PROBLEM}.tsv"
    priority: PROMPT
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        seeds=SEEDS,
        minimum_flagged=config["detection"]["minimum_flagged"],
        sources=source_hash("problems.problem", "evaluation.collect"),
    message:
        "Detection on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_detection.py"


# Only of data sets that are formulas: a line to measure methods by, no method.
rule evaluate_ceiling:
    input:
        features="results/data/{dataset}/features.npy",
        labels="results/data/{dataset}/labels.npz",
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
    output:
        scores=f"results/evaluation/{PROBLEM}/ceiling.csv",
    log:
        f"results/logs/evaluate_ceiling/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_ceiling/{PROBLEM}.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        seeds=SEEDS,
        sources=source_hash("evaluation.ceiling"),
    message:
        "Ceiling of detection on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_ceiling.py"


rule evaluate_curation:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
        values=values_of_problem(".npz", curated=True),
        records=values_of_problem(".json", curated=True),
    output:
        curves=f"results/evaluation/{PROBLEM}/curation_curve.csv",
        scores=f"results/evaluation/{PROBLEM}/curation.csv",
    log:
        f"results/logs/evaluate_curation/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_curation/{PROBLEM}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    params:
        seeds=SEEDS,
        settings=without(config["curation"], "up_to", "methods"),
        sources=source_hash("problems.problem", "evaluation.curation"),
    message:
        "Removal and addition on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_curation.py"


rule evaluate_groups:
    input:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
        values=values_of_problem(".npz"),
        records=values_of_problem(".json"),
    output:
        groups=f"results/evaluation/{PROBLEM}/groups.csv",
        summary=f"results/evaluation/{PROBLEM}/groups_summary.csv",
    log:
        f"results/logs/evaluate_groups/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/evaluate_groups/{PROBLEM}.tsv"
    priority: PROMPT
    conda:
        "../../envs/report.yaml"
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
