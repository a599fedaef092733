"""The tables of the audits."""

from __future__ import annotations

from nddv.reporting.catalogue.columns import columns
from nddv.reporting.registry import Table

_ERROR_TERMS = (
    "With e_i(A) = |s_i − Δ_i(A)|, the error of a pair of points in the theorem is the mean of "
    "e_i(A) + e_j(A) over contexts A. Since e_i(A) ≤ |s_i − Δ_i(N∖i)| + |Δ_i(A) − Δ_i(N∖i)|, its "
    "mean over all pairs is at most 2 ε̂_ref + δ̂_ctx, where ε̂_ref is the mean over points of |s_i − "
    "Δ_i(N∖i)|, the discrepancy at the reference coalition N∖i (leave-one-out), and δ̂_ctx is twice "
    "the mean over points and contexts of |Δ_i(A) − Δ_i(N∖i)|, the variation of marginals over "
    "contexts at both ends of a pair. Contexts are the points that come before i in random orders, "
    "those of the Shapley value. Scores are multiplied by one positive factor, fitted by least "
    "squares to the leave-one-out marginals of a quarter of the points; all terms are means over "
    "the others. Raw scores are not multiplied; only participation under log-likelihood has them, "
    "being a derivative of the log-likelihood, though of the NDDV model. A score of zero "
    "everywhere is shown for comparison: a score with a larger ε̂_ref says less of the size of "
    "marginals than nothing does. A value gap is |Δ_i(N∖i) − Δ_j(N∖j)|, over all pairs. Every "
    "number is divided by max − min over points of the leave-one-out marginals of the noisy "
    "problem of the same data set, size, seed and utility, for noisy and clean rows alike (of the "
    "problem itself, if there is no noisy one). Where that is zero, leaving one point out changes "
    "nothing, and there is no number; the note says in how many seeds there is one."
)
_MARGINALS = {"records": "audit_records"}

AUDITS = [
    Table(
        name="epsilon_delta",
        title="Error terms of finite marginals",
        caption="How far a score is from finite marginals (ε̂_ref), and how much marginals depend "
        "on the other points (δ̂_ctx).",
        label="tab:epsilon_delta",
        part="audits",
        about=_ERROR_TERMS,
        function="nddv.reporting.tables.audits:epsilon_delta",
        reads={"errors": "audit:errors", "published": "published:epsilon_delta", **_MARGINALS},
        facts={"gaps": "audit_gaps:marginals"},
        columns=columns(
            "dataset n corruption utility title scale epsilon_ref published_epsilon_ref delta_ctx "
            "published_delta_ctx envelope note",
            "readout runs factor",
            title="Score",
        ),
    ),
    Table(
        name="value_gaps",
        title="Gaps of leave-one-out marginals between points",
        caption="Gaps between the leave-one-out marginals of two points. An order is assured only "
        "for gaps larger than the envelope.",
        label="tab:value_gap_distribution",
        part="audits",
        about=_ERROR_TERMS,
        function="nddv.reporting.tables.audits:value_gaps",
        reads={
            "value_gaps": "audit:gaps",
            "errors": "audit:errors",
            "published": "published:value_gaps",
            **_MARGINALS,
        },
        facts={"gaps": "audit_gaps:marginals"},
        columns=columns(
            "dataset n corruption utility gap_50 published_gap_50 gap_75 published_gap_75 gap_90 "
            "published_gap_90 envelope_terminal published_envelope envelope_path "
            "envelope_participation envelope_participation_raw envelope_zero note",
            "runs",
        ),
    ),
    Table(
        name="rank_correlations",
        title="Rank correlations with retraining",
        caption="Agreement of scores with leave-one-out, Shapley and Banzhaf values of a logistic "
        "regression that is retrained.",
        label="tab:rank_corr",
        part="audits",
        about="Spearman's ρ between values and marginals from retraining a logistic regression: "
        "exact leave-one-out, sampled Shapley and Banzhaf. Reliability is the correlation that two "
        "independent samples of the reference would have; no method can be expected to correlate "
        "with a sampled reference by more than its root. No number: one side is constant.",
        function="nddv.reporting.tables.audits:rank_correlations",
        reads={"ranks": "audit:ranks", "published": "published:rank_correlations", **_MARGINALS},
        facts={"gaps": "audit_gaps:marginals"},
        columns=columns(
            "dataset n corruption utility title loo published_loo shapley published_shapley "
            "banzhaf reliability_shapley reliability_banzhaf note",
            "method runs",
            title="Score",
        ),
    ),
    Table(
        name="certificates",
        title="Certified orders of pairs",
        caption="Share of pairs of points whose order a score certifies, with a control that uses "
        "the same samples and no score.",
        part="audits",
        about="Shares of pairs, chosen before any coalition was drawn, whose order by the score is "
        "certified to be that of the semi-value: the score gap is beyond the bound of its error. "
        "One pair at a time, and all pairs at once (union bound). For leave-one-out the error is "
        "known, and all bounds are that number. Scores are multiplied by one positive factor, "
        "fitted to the semi-values of other points, or raw. samples-only: what a confidence "
        "interval from the same coalitions certifies without any score. Order known: share of "
        "pairs whose order the reference tells (exact, or sampled independently and beyond two "
        "standard errors); agreement: of these, the share that the score orders alike; of "
        "certified: of those certified one at a time by Bernstein. Game: the logistic regression, "
        "or the NDDV model itself, retrained.",
        function="nddv.reporting.tables.certificates:certificates",
        reads={"rows": "audit:certificates"},
        facts={"gaps": "audit_gaps:marginals,retraining"},
        columns=columns(
            "dataset n corruption game utility semivalue title pairs hoeffding bernstein "
            "hoeffding_union bernstein_union resolved agreement agreement_certified note",
            "readout runs",
            title="Score",
        ),
    ),
    Table(
        name="retraining_fidelity",
        title="Leave-one-out retraining of the NDDV model",
        caption="Agreement with leave-one-out retraining of the NDDV model itself; batches, noise "
        "and weights are held fixed.",
        part="audits",
        about="Spearman's ρ between values and U(N) − U(N∖i), the NDDV model retrained without i "
        "with the same batches, noise and meta weights; U is its mean validation log-likelihood.",
        function="nddv.reporting.tables.audits:retraining_fidelity",
        reads={"fidelity": "audit:fidelity"},
        facts={"gaps": "audit_gaps:retraining"},
        columns=columns(
            "dataset n corruption title points spearman smallest note",
            "method runs",
            title="Score",
        ),
    ),
    Table(
        name="datamodelling",
        title="Linear datamodelling scores",
        caption="How well sums of values predict the change when 1, 5 or 10 % of the points are "
        "dropped together.",
        part="audits",
        about="Random subsets of the training points are dropped and the NDDV model is retrained "
        "with the same batches, noise and meta weights; Spearman's ρ between the change of the "
        "validation log-likelihood and minus the sum of the dropped values (Ilyas and Engstrom "
        "2025, MAGIC).",
        function="nddv.reporting.tables.audits:datamodelling",
        reads={"scores": "audit:datamodelling"},
        facts={"gaps": "audit_gaps:retraining"},
        columns=columns(
            "dataset n corruption title lds_1 lds_5 lds_10 subsets note",
            "method runs",
            title="Score",
        ),
    ),
]
