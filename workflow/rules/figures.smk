"""Figures: one rule for all of them. What they are is in nddv.reporting.catalogue."""


rule figure:
    input:
        unpack(figure_input),
    output:
        pdf="reports/figures/{figure}.pdf",
        png=report(
            "reports/figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"content": "{figure}"},
        ),
    log:
        "results/logs/figure/{figure}.log",
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(FIGURES),
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        title=lambda wildcards: FIGURES[wildcards.figure].title,
        caption=lambda wildcards: FIGURES[wildcards.figure].caption,
        methods=lambda wildcards: FIGURE_METHODS.get(wildcards.figure),
        options=figure_options,
        sources=figure_sources,
    message:
        "Figure {wildcards.figure}"
    script:
        "../scripts/figure.py"
