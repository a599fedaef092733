"""The tables of gaps between groups."""

from __future__ import annotations

from nddv.reporting.catalogue.columns import columns
from nddv.reporting.registry import Table

_RATES = (
    " DTPRGap = |TPR − TPR_g|, DEOGap adds |FPR − FPR_g|; the largest over the groups g that have "
    "such points (the means over groups are in the CSV). Floor: their mean where as many corrupted "
    "and clean points are flagged, of whichever groups: a gap that finite groups show without any "
    "difference between them. Scores are in standard deviations, the paper's unit is not printed; "
    "L̂ are central differences of a group's rates when its scores move against the threshold, the "
    "largest over groups; predicted: ε·L̂_TPR and ε·(L̂_TPR + L̂_FPR), ε the largest score gap. "
    "Predictions do not depend on the unit, and are no bounds. Within: share of the seeds whose "
    "gap is not larger."
)
_RATE_COLUMNS = (
    " slope_tpr published_slope_tpr slope_fpr published_slope_fpr predicted_dtpr"
    " published_predicted_dtpr predicted_deo published_predicted_deo dtpr published_dtpr dtpr_floor"
    " dtpr_within deo published_deo deo_floor deo_within recall note"
)
_CSV_ONLY = "method runs dtpr_mean dtpr_share deo_mean deo_share auroc"

GROUPS = [
    Table(
        name="threshold_sensitivity",
        title="Sensitivity of detection to the threshold",
        caption="Gaps of detection between classes, beside the local predictions of the paper and "
        "the floor that chance alone gives.",
        label="tab:threshold_sensitivity_diagnostics",
        part="groups",
        about=(
            "Groups are the classes: label, as observed, noise included; clean-label, before the "
            "noise. The paper does not say which. Points are flagged by the matched budget."
            + _RATES
        ),
        function="nddv.reporting.tables.groups:threshold_sensitivity",
        reads={"rows": "groups", "published": "published:threshold_sensitivity"},
        facts={"gaps": "gaps"},
        columns=columns(
            "dataset n corruption partition title score_gap epsilon_u published_epsilon_u"
            + _RATE_COLUMNS,
            _CSV_ONLY,
        ),
    ),
    Table(
        name="adult_score_gaps",
        title="Adult: gaps of scores between groups",
        caption="Gaps of scores between the groups, with learned weights and without.",
        label="tab:adult_thm2",
        part="groups",
        requires="adult",
        about="Groups are by the protected attribute (Adult: sex). ε_U: the largest gap of a "
        "group's mean sensitivity, D̂_φ: of its mean value, after centring, which multiplies it by "
        "N/(N − 1): an identity, not a finding. Raw scores of two fits have two units; the last "
        "gap is in standard deviations of the values. Δ_V: range of the learned weights.",
        function="nddv.reporting.tables.groups:adult_score_gaps",
        reads={"rows": "groups:adult", "published": "published:adult_score_gaps"},
        columns=columns(
            "dataset n corruption title reweighting epsilon_u published_epsilon_u scaled_epsilon_u "
            "published_scaled_epsilon_u d_phi published_d_phi d_phi_sd_units weight_range "
            "published_weight_range note",
            "method runs",
        ),
    ),
    Table(
        name="adult_detection_gaps",
        title="Adult: gaps of detection between groups",
        caption="Gaps of detection between the groups, for every method.",
        label="tab:adult_cor4",
        part="groups",
        requires="adult",
        about=(
            "Groups are by the protected attribute (Adult: sex). Rule budget: the lowest values; "
            "balanced: the lowest of each group, as many as its share of the points, which in the "
            "paper NDDV alone is granted, on scores calibrated by group: their score gap is zero, "
            "and so is what it predicts. The paper's predictions for all methods are its slopes "
            "times 0.061, the score gap of NDDV; ours use the score gap of each method." + _RATES
        ),
        function="nddv.reporting.tables.groups:adult_detection_gaps",
        reads={"rows": "groups:adult", "published": "published:adult_detection_gaps"},
        columns=columns(
            "dataset n corruption title rule score_gap epsilon_u" + _RATE_COLUMNS,
            _CSV_ONLY,
        ),
    ),
]
