"""Data: files are fetched, tables read, documents and pictures encoded; then problems are made."""


rule fetch_dataset:
    input:
        own_file,
    output:
        "results/data/{dataset}/files.json",
    log:
        "results/logs/fetch_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch_dataset/{dataset}.tsv"
    # Compute nodes often see no network: files are fetched where Snakemake itself runs.
    localrule: True
    conda:
        "../../envs/data.yaml"
    resources:
        mem_mb=growing(1000),
        runtime=growing(60),
    params:
        entry=dataset_entry,
        encoder=encoder_entry,
        allowed=PLAN.allowed_sources,
        sources=source_hash("problems.fetch", "problems.registry"),
    message:
        "Files of {wildcards.dataset}"
    script:
        "../scripts/fetch_dataset.py"


rule load_dataset:
    input:
        files="results/data/{dataset}/files.json",
    output:
        features="results/data/{dataset}/features.npy",
        labels="results/data/{dataset}/labels.npz",
        summary="results/data/{dataset}/summary.json",
    log:
        "results/logs/load_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/load_dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset="[A-Za-z0-9_-]+",
    conda:
        "../../envs/data.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
    params:
        entry=dataset_entry,
        encoder=encoder_entry,
        sources=source_hash("problems.datasets"),
    message:
        "Data set {wildcards.dataset}"
    script:
        "../scripts/load_dataset.py"


# Documents and pictures: the name carries the encoder.
use rule load_dataset as encode_dataset with:
    log:
        "results/logs/encode_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/encode_dataset/{dataset}.tsv"
    wildcard_constraints:
        dataset="[A-Za-z0-9_-]+@[A-Za-z0-9_-]+",
    conda:
        "../../envs/encode.yaml"
    threads: 8
    resources:
        mem_mb=growing(8000),
        runtime=growing(480),
        gpu=1,
    params:
        # also of an encoder that is the user's own, so that a change of it is noticed
        encoder_code=lambda wildcards: code_hash(encoder_entry(wildcards)["function"]),
        sources=source_hash("problems.datasets", "problems.encoders"),
    message:
        "Encoding {wildcards.dataset}"


# A data set split, standardised and corrupted; all seeds in one job.
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
