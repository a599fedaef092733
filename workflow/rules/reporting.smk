"""Reporting: the tables and figures of the report."""


rule dataset_table:
    input:
        summaries=expand("results/data/{dataset}/summary.json", dataset=DATASETS),
        published=project_file("config/paper/datasets.csv"),
    output:
        csv="reports/tables/datasets.csv",
        markdown="reports/tables/datasets.md",
        html=report(
            "reports/tables/datasets.html",
            caption="../report/dataset_table.rst",
            category="Data sets",
            labels={"content": "Data sets, measured and as the paper prints them"},
        ),
    log:
        "results/logs/dataset_table.log",
    benchmark:
        "results/benchmarks/dataset_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=config_hash([config["datasets"], config["encoders"], config["problems"]]),
        problems=PROBLEMS,
        sizes=config["sizes"],
        gaps=GAPS,
        sources=source_hash("files", "reporting.datasets", "reporting.tables"),
    message:
        "Table of data sets"
    script:
        "../scripts/dataset_table.py"


rule detection_table:
    input:
        scores=for_problems(f"results/evaluation/{PROBLEM}/detection.csv"),
        published=project_file("config/paper/mislabeled_data_detection.csv"),
    output:
        csv="reports/tables/detection.csv",
        markdown="reports/tables/detection.md",
        html=report(
            "reports/tables/detection.html",
            caption="../report/detection_table.rst",
            category="Corrupted-sample detection",
            labels={"content": "F1 of every method, measured and published"},
        ),
    log:
        "results/logs/detection_table.log",
    benchmark:
        "results/benchmarks/detection_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        gaps=GAPS,
        sources=source_hash("files", "reporting.detection"),
    message:
        "Detection table"
    script:
        "../scripts/detection_table.py"


rule detection_curve:
    input:
        scores=for_problems(f"results/evaluation/{PROBLEM}/detection.csv"),
        curves=for_problems(f"results/evaluation/{PROBLEM}/detection_curve.csv"),
    output:
        png="reports/figures/detection_curve.png",
        svg=report(
            "reports/figures/detection_curve.svg",
            caption="../report/detection_curve.rst",
            category="Corrupted-sample detection",
            labels={"content": "Detection curves"},
        ),
    log:
        "results/logs/detection_curve.log",
    benchmark:
        "results/benchmarks/detection_curve.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("files", "reporting.figures"),
    message:
        "Detection curves"
    script:
        "../scripts/detection_curve.py"
