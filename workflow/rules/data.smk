"""Data: files are fetched, tables read, documents and pictures encoded; one folder a data set."""


# Compute nodes often see no network: files are fetched where Snakemake itself runs.
localrules:
    fetch_dataset,


rule fetch_dataset:
    input:
        own_file,
    output:
        "results/data/{dataset}/files.json",
    log:
        "results/logs/fetch_dataset/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch_dataset/{dataset}.tsv"
    conda:
        "../../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(60),
    params:
        entry=dataset_entry,
        encoder=encoder_entry,
        allowed=ALLOWED,
        sources=source_hash("problems.fetch", "problems.registry"),
    message:
        "Files of {wildcards.dataset}"
    script:
        "../scripts/fetch_dataset.py"


rule load_dataset:
    input:
        files="results/data/{table}/files.json",
    output:
        features="results/data/{table}/features.npy",
        labels="results/data/{table}/labels.npz",
        summary="results/data/{table}/summary.json",
    log:
        "results/logs/load_dataset/{table}.log",
    benchmark:
        "results/benchmarks/load_dataset/{table}.tsv"
    conda:
        "../../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
    params:
        name="{table}",
        entry=dataset_entry,
        encoder=encoder_entry,
        sources=source_hash("problems.datasets"),
    message:
        "Table {wildcards.table}"
    script:
        "../scripts/load_dataset.py"


rule encode_dataset:
    input:
        files="results/data/{collection}@{encoder}/files.json",
    output:
        features="results/data/{collection}@{encoder}/features.npy",
        labels="results/data/{collection}@{encoder}/labels.npz",
        summary="results/data/{collection}@{encoder}/summary.json",
    log:
        "results/logs/encode_dataset/{collection}@{encoder}.log",
    benchmark:
        "results/benchmarks/encode_dataset/{collection}@{encoder}.tsv"
    conda:
        "../../envs/encode.yaml"
    threads: 8
    resources:
        mem_mb=growing(8000),
        runtime=growing(480),
        gpu=1,
    params:
        name="{collection}@{encoder}",
        entry=dataset_entry,
        encoder=encoder_entry,
        encoder_code=encoder_code,
        sources=source_hash("problems.datasets", "problems.encoders"),
    message:
        "{wildcards.collection}, encoded by {wildcards.encoder}"
    script:
        "../scripts/load_dataset.py"
