"""Problems: a data set split, standardised and corrupted; all seeds in one job."""


rule make_problems:
    input:
        features="results/data/{dataset}/features.npy",
        labels="results/data/{dataset}/labels.npz",
    output:
        problems=for_seeds(f"results/problems/{ADDRESS}/problem.npz"),
        truths=for_seeds(f"results/problems/{ADDRESS}/truth.npz"),
    log:
        f"results/logs/make_problems/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/make_problems/{PROBLEM}.tsv"
    conda:
        "../../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(5),
    params:
        options=lambda wildcards: PLAN.problem_options(PROBLEM.format(**wildcards)),
        seeds=SEEDS,
        sources=source_hash("problems.make"),
    message:
        "Problems of {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/make_problems.py"
