"""Evaluation: what the values are good for."""


rule evaluate_detection:
    input:
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
        values=expand(
            f"results/values/{ADDRESS}/{{method}}.npz",
            method=config["methods"],
            seed=SEEDS,
            allow_missing=True,
        ),
        records=expand(
            f"results/values/{ADDRESS}/{{method}}.json",
            method=config["methods"],
            seed=SEEDS,
            allow_missing=True,
        ),
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
        mem_mb=2000,
        runtime=10,
    params:
        seeds=SEEDS,
        minimum_flagged=config["detection"]["minimum_flagged"],
        sources=source_hash("problems.problem", "evaluation"),
    message:
        "Detection on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/evaluate_detection.py"
