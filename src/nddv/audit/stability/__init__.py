"""The paper's stability statements as small experiments: a seed in, a tidy table out.

    contraction         relative states, measured and in closed form (Theorem
                        relative_state_contraction)
    score_gap_transfer  group score gaps and their bound (Corollary score_gap_transfer)
    frozen_aggregate    error of an aggregate of N points (Proposition
                        frozen_mean_field_stability)
    discretisation      error from time steps and from sampling (Corollary numerical_score_error)
    stationarity        gradients along the meta update (Proposition
                        first_order_meta_reweighting_stationarity)

Each takes half a minute or less on one core; `nddv.reporting.figures.stability` draws each.
"""

from nddv.audit.stability.aggregate import frozen_aggregate
from nddv.audit.stability.contraction import contraction
from nddv.audit.stability.discretisation import discretisation
from nddv.audit.stability.score_gap import score_gap_transfer
from nddv.audit.stability.stationarity import stationarity

_CHECKS = (contraction, score_gap_transfer, frozen_aggregate, discretisation, stationarity)
CHECKS = {check.__name__: check for check in _CHECKS}
