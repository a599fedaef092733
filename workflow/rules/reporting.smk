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


rule audit_table:
    input:
        unpack(audit_table_input),
    output:
        csv="reports/tables/{audit}.csv",
        markdown="reports/tables/{audit}.md",
        html=report(
            "reports/tables/{audit}.html",
            caption="../report/audit_table.rst",
            category="Audits",
            labels={"content": "{audit}"},
        ),
    log:
        "results/logs/audit_table/{audit}.log",
    benchmark:
        "results/benchmarks/audit_table/{audit}.tsv"
    wildcard_constraints:
        audit="|".join(AUDIT_TABLES),
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        kinds=lambda wildcards: AUDIT_TABLES[wildcards.audit][2],
        title=lambda wildcards: AUDIT_TABLES[wildcards.audit][0],
        gaps=audit_gaps,
        config=config_hash([AUDITS, config["settings"]]),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash(
            "reporting.audits", "reporting.certificates", "audit.errors"
        ),
    message:
        "Table {wildcards.audit}"
    script:
        "../scripts/audit_table.py"


rule certificates_figure:
    input:
        rows=of_all_seeds(f"results/audits/{ADDRESS}/certificates.csv", "marginals"),
    output:
        png="reports/figures/certificates.png",
        svg=report(
            "reports/figures/certificates.svg",
            caption="../report/certificates.rst",
            category="Audits",
            labels={"content": "Certificates, downstream model"},
        ),
    log:
        "results/logs/certificates_figure.log",
    benchmark:
        "results/benchmarks/certificates_figure.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("reporting.certificates"),
    message:
        "Figure of the certificates"
    script:
        "../scripts/certificates_figure.py"


use rule certificates_figure as certificates_retrained_figure with:
    input:
        rows=of_all_seeds(
            f"results/audits/{ADDRESS}/retraining/certificates.csv", "retraining"
        ),
    output:
        png="reports/figures/certificates_retrained.png",
        svg=report(
            "reports/figures/certificates_retrained.svg",
            caption="../report/certificates.rst",
            category="Audits",
            labels={"content": "Certificates, NDDV model retrained"},
        ),
    log:
        "results/logs/certificates_retrained_figure.log",
    benchmark:
        "results/benchmarks/certificates_retrained_figure.tsv"
    message:
        "Figure of the certificates by retraining NDDV"


rule bridge_figure:
    input:
        rows=of_all_seeds(f"results/audits/{ADDRESS}/bridge.csv", "bridge"),
    output:
        png="reports/figures/bridge_budget.png",
        svg=report(
            "reports/figures/bridge_budget.svg",
            caption="../report/bridge_budget.rst",
            category="Audits",
            labels={"content": "Terms of the bridge budget"},
        ),
    log:
        "results/logs/bridge_figure.log",
    benchmark:
        "results/benchmarks/bridge_figure.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("reporting.bridge"),
    message:
        "Figure of the bridge budget"
    script:
        "../scripts/bridge_figure.py"


rule stability_figure:
    input:
        rows="results/audits/stability/{check}.csv",
    output:
        png="reports/figures/stability_{check}.png",
        svg=report(
            "reports/figures/stability_{check}.svg",
            caption="../report/stability.rst",
            category="Audits",
            labels={"content": "Stability: {check}"},
        ),
    log:
        "results/logs/stability_figure/{check}.log",
    benchmark:
        "results/benchmarks/stability_figure/{check}.tsv"
    wildcard_constraints:
        check="|".join(STABILITY_CHECKS),
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("reporting.stability"),
    message:
        "Figure of the stability check {wildcards.check}"
    script:
        "../scripts/stability_figure.py"


rule curation_table:
    input:
        scores=for_problems(f"results/evaluation/{PROBLEM}/curation.csv"),
    output:
        csv="reports/tables/curation.csv",
        markdown="reports/tables/curation.md",
        html=report(
            "reports/tables/curation.html",
            caption="../report/curation.rst",
            category="Removal and addition",
            labels={"content": "Areas between the curves and random orders"},
        ),
    log:
        "results/logs/curation_table.log",
    benchmark:
        "results/benchmarks/curation_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        gaps=GAPS,
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash("reporting.curation"),
    message:
        "Table of removal and addition"
    script:
        "../scripts/curation_table.py"


rule curation_figure:
    input:
        curves=for_problems(f"results/evaluation/{PROBLEM}/curation_curve.csv"),
        detection=for_problems(f"results/evaluation/{PROBLEM}/detection_curve.csv"),
    output:
        png="reports/figures/detection_removal_addition.png",
        svg=report(
            "reports/figures/detection_removal_addition.svg",
            caption="../report/curation.rst",
            category="Removal and addition",
            labels={"content": "Detection, removal and addition"},
        ),
    log:
        "results/logs/curation_figure.log",
    benchmark:
        "results/benchmarks/curation_figure.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("reporting.curation"),
    message:
        "Figure of detection, removal and addition"
    script:
        "../scripts/curation_figure.py"


rule groups_table:
    input:
        summaries=lambda wildcards: for_problems(
            f"results/evaluation/{PROBLEM}/groups_summary.csv",
            GROUP_TABLES[wildcards.table][1],
        ),
        published=lambda wildcards: project_file(f"config/paper/{wildcards.table}.csv"),
    output:
        csv="reports/tables/{table}.csv",
        markdown="reports/tables/{table}.md",
        html=report(
            "reports/tables/{table}.html",
            caption="../report/groups.rst",
            category="Groups",
            labels={"content": "{table}"},
        ),
    log:
        "results/logs/groups_table/{table}.log",
    benchmark:
        "results/benchmarks/groups_table/{table}.tsv"
    wildcard_constraints:
        table="|".join(GROUP_TABLES),
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        title=lambda wildcards: GROUP_TABLES[wildcards.table][0],
        gaps=GAPS,
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash("reporting.groups"),
    message:
        "Table {wildcards.table}"
    script:
        "../scripts/groups_table.py"


rule class_conditional:
    input:
        summaries=for_problems(f"results/evaluation/{PROBLEM}/groups_summary.csv"),
    output:
        png="reports/figures/class_conditional.png",
        svg=report(
            "reports/figures/class_conditional.svg",
            caption="../report/groups.rst",
            category="Groups",
            labels={"content": "Gaps between classes"},
        ),
    log:
        "results/logs/class_conditional.log",
    benchmark:
        "results/benchmarks/class_conditional.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("reporting.groups"),
    message:
        "Figure of the gaps between classes"
    script:
        "../scripts/class_conditional.py"


rule claims_table:
    input:
        claims=project_file("config/claims.yaml"),
        schema=project_file("workflow/schemas/claims.schema.yaml"),
        tables=[path for path in TABLES_OF_PARTS if path.endswith(".csv")],
    output:
        csv="reports/tables/claims.csv",
        markdown="reports/tables/claims.md",
        html=report(
            "reports/tables/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"content": "A verdict on every claim of the paper"},
        ),
    log:
        "results/logs/claims_table.log",
    benchmark:
        "results/benchmarks/claims_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        sources=source_hash("reporting.verdicts"),
    message:
        "Verdicts on the claims"
    script:
        "../scripts/claims_table.py"
