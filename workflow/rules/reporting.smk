"""The report. What a table or figure is, and what it reads, stands in nddv.reporting.catalogue."""


# entry_text: Snakemake notices changes of plain values only, and an entry is none.
rule table:
    input:
        unpack(lambda wildcards: PLAN.inputs(PLAN.tables[wildcards.table])),
    output:
        csv=in_report("reports/tables/{table}.csv"),
        markdown="reports/tables/{table}.md",
        record="results/tables/{table}.json",
    log:
        "results/logs/table/{table}.log",
    benchmark:
        "results/benchmarks/table/{table}.tsv"
    priority: PROMPT
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        entry=lambda wildcards: PLAN.tables[wildcards.table],
        entry_text=lambda wildcards: repr(PLAN.tables[wildcards.table]),
        facts=lambda wildcards: PLAN.told(PLAN.tables[wildcards.table]),
        provenance=PLAN.provenance,
        sources=lambda wildcards: entry_sources(
            PLAN.tables[wildcards.table], "reporting.writing"
        ),
    message:
        "Table {wildcards.table}"
    script:
        "../scripts/table.py"


# On demand: snakemake reports/tables/leaders.tex
rule table_as:
    input:
        csv="reports/tables/{table}.csv",
        record="results/tables/{table}.json",
    output:
        "reports/tables/{table}.{format}",
    log:
        "results/logs/table_as/{table}.{format}.log",
    benchmark:
        "results/benchmarks/table_as/{table}.{format}.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        entry=lambda wildcards: PLAN.tables[wildcards.table],
        entry_text=lambda wildcards: repr(PLAN.tables[wildcards.table]),
        sources=source_hash("reporting.writing", "reporting.tables"),
    message:
        "Table {wildcards.table} as {wildcards.format}"
    script:
        "../scripts/table_as.py"


rule figure:
    input:
        unpack(lambda wildcards: PLAN.inputs(PLAN.figures[wildcards.figure])),
    output:
        pdf="reports/figures/{figure}.pdf",
        png=in_report("reports/figures/{figure}.png"),
    log:
        "results/logs/figure/{figure}.log",
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
    priority: PROMPT
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        entry=lambda wildcards: PLAN.figures[wildcards.figure],
        entry_text=lambda wildcards: repr(PLAN.figures[wildcards.figure]),
        facts=lambda wildcards: PLAN.told(PLAN.figures[wildcards.figure]),
        methods=lambda wildcards: PLAN.methods_shown(PLAN.figures[wildcards.figure]),
        sources=lambda wildcards: entry_sources(
            PLAN.figures[wildcards.figure], "reporting.figures.style"
        ),
    message:
        "Figure {wildcards.figure}"
    script:
        "../scripts/figure.py"


rule report_page:
    input:
        report=project_file("config/report.yaml"),
        schema=project_file("workflow/schemas/report.schema.yaml"),
        tables=PLAN.report_files("tables", "csv"),
        records=PLAN.report_files("tables", "json"),
        figures=PLAN.report_files("figures", "png"),
    output:
        page="reports/index.html",
        environment="reports/environment.json",
    log:
        "results/logs/report_page.log",
    benchmark:
        "results/benchmarks/report_page.tsv"
    conda:
        "../../envs/report.yaml"
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        entries=PLAN.tables,
        figures=PLAN.figures,
        provenance=PLAN.provenance,
        sources=source_hash("reporting.page", "reporting.contents", "reporting.tables"),
    message:
        "The report as a page"
    script:
        "../scripts/report_page.py"
