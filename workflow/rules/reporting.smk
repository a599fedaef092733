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
        tex="reports/tables/datasets.tex",
    log:
        "results/logs/dataset_table.log",
    benchmark:
        "results/benchmarks/dataset_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        config=config_hash([config["datasets"], config["encoders"], config["problems"]]),
        problems=PROBLEMS,
        sizes=config["sizes"],
        gaps=GAPS,
        sources=source_hash("support.files", "reporting.datasets", "reporting.tables"),
    message:
        "Table of data sets"
    script:
        "../scripts/dataset_table.py"


rule detection_table:
    input:
        unpack(experiment_input),
    output:
        csv="reports/tables/{experiment}.csv",
        markdown="reports/tables/{experiment}.md",
        html=report(
            "reports/tables/{experiment}.html",
            caption="../report/detection_table.rst",
            category="Corrupted-sample detection",
            labels={"content": "{experiment}"},
        ),
        tex="reports/tables/{experiment}.tex",
    log:
        "results/logs/detection_table/{experiment}.log",
    benchmark:
        "results/benchmarks/detection_table/{experiment}.tsv"
    wildcard_constraints:
        experiment="|".join(EXPERIMENTS),
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        title=lambda wildcards: EXPERIMENTS[wildcards.experiment]["title"],
        across=lambda wildcards: EXPERIMENTS[wildcards.experiment]["across"],
        methods=experiment_methods,
        gaps=experiment_gaps,
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash("support.files", "reporting.detection"),
    message:
        "Table {wildcards.experiment}"
    script:
        "../scripts/detection_table.py"


rule leaders_table:
    input:
        scores=for_problems(f"results/evaluation/{PROBLEM}/detection.csv"),
    output:
        csv="reports/tables/leaders.csv",
        markdown="reports/tables/leaders.md",
        html=report(
            "reports/tables/leaders.html",
            caption="../report/leaders.rst",
            category="Corrupted-sample detection",
            labels={"content": "leaders"},
        ),
        tex="reports/tables/leaders.tex",
    log:
        "results/logs/leaders_table.log",
    benchmark:
        "results/benchmarks/leaders_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        methods=config["methods"],
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash("reporting.leaders"),
    message:
        "Table of the leaders"
    script:
        "../scripts/leaders_table.py"


rule sensitivity_table:
    input:
        scores=f"results/evaluation/{PROBLEM.format(**SENSITIVITY)}/detection.csv",
    output:
        csv="reports/tables/sensitivity.csv",
        markdown="reports/tables/sensitivity.md",
        html=report(
            "reports/tables/sensitivity.html",
            caption="../report/sensitivity.rst",
            category="Sensitivity",
            labels={"content": "One setting changed at a time"},
        ),
        tex="reports/tables/sensitivity.tex",
    log:
        "results/logs/sensitivity_table.log",
    benchmark:
        "results/benchmarks/sensitivity_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        defaults={
            parameter: NDDV_DEFAULTS[parameter]
            for parameter in config["sensitivity"]["grid"]
        },
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash("reporting.sensitivity"),
    message:
        "Table of the sensitivity"
    script:
        "../scripts/sensitivity_table.py"


rule adjoint_norms:
    input:
        records=[
            f"results/values/{PROBLEM.format(**problem)}/seed{seed}/nddv-terminal.json"
            for problem in PROBLEMS
            if "nddv-terminal" in methods_of(problem)
            for seed in SEEDS
        ],
    output:
        csv="reports/tables/adjoint_norms.csv",
        markdown="reports/tables/adjoint_norms.md",
        html=report(
            "reports/tables/adjoint_norms.html",
            caption="../report/adjoint_norms.rst",
            category="Sensitivity",
            labels={"content": "Growth of the co-states"},
        ),
        tex="reports/tables/adjoint_norms.tex",
    log:
        "results/logs/adjoint_norms.log",
    benchmark:
        "results/benchmarks/adjoint_norms.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        config=config_hash(config),
        seeds=SEEDS,
        corrupt_valid=config["corrupt_valid"],
        sources=source_hash("reporting.adjoints"),
    message:
        "Table of the growth of the co-states"
    script:
        "../scripts/adjoint_norms.py"


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
        tex="reports/tables/{audit}.tex",
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
        mem_mb=growing(1000),
        runtime=growing(10),
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


rule curation_table:
    input:
        scores=for_problems(f"results/evaluation/{PROBLEM}/curation.csv", CURATED),
    output:
        csv="reports/tables/curation.csv",
        markdown="reports/tables/curation.md",
        html=report(
            "reports/tables/curation.html",
            caption="../report/curation.rst",
            category="Removal and addition",
            labels={"content": "Areas between the curves and random orders"},
        ),
        tex="reports/tables/curation.tex",
    log:
        "results/logs/curation_table.log",
    benchmark:
        "results/benchmarks/curation_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
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
        tex="reports/tables/{table}.tex",
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
        mem_mb=growing(1000),
        runtime=growing(10),
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


rule claims_table:
    input:
        claims=project_file("config/claims.yaml"),
        schema=project_file("workflow/schemas/claims.schema.yaml"),
        tables=of_all_parts("tables", ".csv"),
    output:
        csv="reports/tables/claims.csv",
        markdown="reports/tables/claims.md",
        html=report(
            "reports/tables/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"content": "A verdict on every claim of the paper"},
        ),
        tex="reports/tables/claims.tex",
    log:
        "results/logs/claims_table.log",
    benchmark:
        "results/benchmarks/claims_table.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        sources=source_hash("reporting.verdicts"),
    message:
        "Verdicts on the claims"
    script:
        "../scripts/claims_table.py"


rule report_page:
    input:
        report=project_file("config/report.yaml"),
        schema=project_file("workflow/schemas/report.schema.yaml"),
        claims="reports/tables/claims.csv",
        tables=[*of_all_parts("tables", ".md"), "reports/tables/claims.md"],
        figures=of_all_parts("figures", ".png"),
    output:
        "reports/index.html",
    log:
        "results/logs/report_page.log",
    benchmark:
        "results/benchmarks/report_page.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        config=config_hash(config),
        seeds=SEEDS,
        sources=source_hash("reporting.page", "reporting.contents"),
    message:
        "The report as a page"
    script:
        "../scripts/report_page.py"
