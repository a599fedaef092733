"""Valuation rules besides NDDV, one module per family; :mod:`nddv.methods.registry` lists them.

On coalitions of any game (``nddv.coalitions``): `leave_one_out`, `semivalues` (Data Shapley, Beta
Shapley), `subsamples` (Data Banzhaf, subsampled influence), `ame`, `distributional` (DU-Shapley),
`class_wise` (CS-Shapley). Without: `neighbours` (KNN-Shapley), `oob` (Data-OOB), `transport`
(LAVA), `in_run` (GhostSuite), `lossval`, `dvrl`, `volume`, `eigen` (Eigen-Value, SingularLAVA,
SingularOOB). Controls: `loss` (small loss), `out_of_fold` (gradient boosting, logistic regression),
`margins` (AUM), `residuals` (a forest, for regression), `chance` (random).
"""
