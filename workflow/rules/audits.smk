"""Audits: how far the values are from retraining, in three kinds of problems, and the theory's checks."""

AUDITED_VALUES = [f"results/values/{ADDRESS}/{name}.npz" for name in PLAN.audit_methods]
AUDITED_RECORDS = [path.replace(".npz", ".json") for path in AUDITED_VALUES]


rule audit_marginals:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
    output:
        marginals=f"results/audits/{ADDRESS}/marginals.npz",
        shares=f"results/audits/{ADDRESS}/context.csv",
        record=f"results/audits/{ADDRESS}/marginals.json",
    log:
        f"results/logs/audit_marginals/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/audit_marginals/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(120),
    params:
        settings={
            **PLAN.audit_settings("marginals"),
            **config["audits"]["game"],
            "alpha": config["audits"]["certificates"]["alpha"],
        },
        sources=source_hash("audit.marginals", "coalitions"),
    message:
        "Marginals of {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}, seed {wildcards.seed}"
    script:
        "../scripts/audit_marginals.py"


rule audit_scores:
    input:
        marginals=for_seeds(f"results/audits/{ADDRESS}/marginals.npz"),
        values=for_seeds(AUDITED_VALUES),
        value_records=for_seeds(AUDITED_RECORDS),
    output:
        errors=f"results/audits/{PROBLEM}/errors.csv",
        gaps=f"results/audits/{PROBLEM}/gaps.csv",
        ranks=f"results/audits/{PROBLEM}/ranks.csv",
    log:
        f"results/logs/audit_scores/{PROBLEM}.log",
    benchmark:
        f"results/benchmarks/audit_scores/{PROBLEM}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        seeds=SEEDS,
        calibration=config["audits"]["calibration"],
        sources=source_hash("audit.run"),
    message:
        "Error terms and ranks of {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}"
    script:
        "../scripts/audit_scores.py"


rule audit_certificates:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
        marginals=f"results/audits/{ADDRESS}/marginals.npz",
        values=AUDITED_VALUES,
        value_records=AUDITED_RECORDS,
    output:
        rows=f"results/audits/{ADDRESS}/certificates.csv",
    log:
        f"results/logs/audit_certificates/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/audit_certificates/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
    params:
        settings={
            **config["audits"]["certificates"],
            **config["audits"]["game"],
            "calibration": config["audits"]["calibration"],
        },
        sources=source_hash("audit.run", "coalitions"),
    message:
        "Certificates of {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}, seed {wildcards.seed}"
    script:
        "../scripts/audit_certificates.py"


rule audit_retraining:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
        values=AUDITED_VALUES,
        value_records=AUDITED_RECORDS,
    output:
        fidelity=f"results/audits/{ADDRESS}/retraining/fidelity.csv",
        datamodelling=f"results/audits/{ADDRESS}/retraining/datamodelling.csv",
        certificates=f"results/audits/{ADDRESS}/retraining/certificates.csv",
        marginals=f"results/audits/{ADDRESS}/retraining/marginals.csv",
    log:
        f"results/logs/audit_retraining/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/audit_retraining/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(60),
        gpu=1,
    params:
        nddv=NDDV_SETTINGS,
        settings={
            **PLAN.audit_settings("retraining"),
            "alpha": config["audits"]["certificates"]["alpha"],
        },
        sources=source_hash("audit.run"),
    message:
        "Retraining NDDV on {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}, seed {wildcards.seed}"
    script:
        "../scripts/audit_retraining.py"


rule audit_bridge:
    input:
        problem=f"results/problems/{ADDRESS}/problem.npz",
    output:
        rows=f"results/audits/{ADDRESS}/bridge.csv",
    log:
        f"results/logs/audit_bridge/{ADDRESS}.log",
    benchmark:
        f"results/benchmarks/audit_bridge/{ADDRESS}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(30),
        gpu=1,
    params:
        nddv=NDDV_SETTINGS,
        settings=PLAN.audit_settings("bridge"),
        sources=source_hash("audit.run"),
    message:
        "Bridge budget of {wildcards.dataset}, n={wildcards.n}, {wildcards.corruption}, seed {wildcards.seed}"
    script:
        "../scripts/audit_bridge.py"


rule audit_stability:
    output:
        rows="results/audits/stability/{check}.csv",
    log:
        "results/logs/audit_stability/{check}.log",
    benchmark:
        "results/benchmarks/audit_stability/{check}.tsv"
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=growing(4000),
        runtime=growing(15),
    params:
        seed=SEEDS[0],
        sources=source_hash("audit.stability"),
    message:
        "Stability check {wildcards.check}"
    script:
        "../scripts/audit_stability.py"
