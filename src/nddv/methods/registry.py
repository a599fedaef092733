"""The registry of methods: everything that can turn a problem into values.

A new rule is one function, one entry here, and its settings in ``config/methods.yaml``, with their
schema. The functions are named, not imported: the Snakefile reads this registry inside Snakemake's
own environment, and a run depends on the code of its own method only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nddv.methods.variants import split_variant
from nddv.support.wording import pick

OPENDATAVAL_PREFIX = "odv:"


@dataclass(frozen=True)
class Method:
    """One way to value training points.

    Attributes
    ----------
    name : as in configuration, file names and tables.
    title : as in figures and tables for people.
    citation : where it comes from.
    needs : parts of the problem that it reads.
    cost : how its time grows: n training and m validation points, d features, C classes, E epochs,
        B drawn coalitions, F the cost of one fit.
    function : ``"module:function"``; see :mod:`nddv.methods.valuation` for what it is called with.
    uses_coalitions : whether it fits coalitions with :mod:`nddv.coalitions`.
    """

    name: str
    title: str
    citation: str
    needs: tuple[str, ...]
    cost: str
    function: str
    uses_coalitions: bool = False

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules and packages of the library that decide its values, below the library."""
        own = self.function.partition(":")[0].removeprefix("nddv.")
        return (own, "methods.valuation", *(("coalitions",) if self.uses_coalitions else ()))


_NDDV = "Liang et al., Neural Dynamic Data Valuation via Stochastic State-Adjoint Trajectories"
_NDDV_FIT = "nddv.estimator.nddv:NDDV"
_CHOI = "Choi et al. (2026), arXiv 2510.23409"
_TRAIN = ("train",)
_BOTH = ("train", "valid")

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "nddv-terminal",
            "NDDV, terminal (the paper's score)",
            _NDDV,
            ("train", "meta"),
            "E·n",
            _NDDV_FIT,
        ),
        Method(
            "nddv-path",
            "NDDV, path-integrated",
            f"{_NDDV}, its future work",
            ("train", "meta"),
            "E·n",
            _NDDV_FIT,
        ),
        Method(
            "nddv-participation",
            "NDDV, participation derivative",
            f"{_NDDV}; replay as in Engstrom et al. (2025), arXiv 2503.13751",
            ("train", "meta", "valid"),
            "E·n, about three fits",
            _NDDV_FIT,
        ),
        Method(
            "loo",
            "LOO",
            "Cook (1977); Koh and Liang (2017), ICML",
            _BOTH,
            "n·F, warm-started",
            "nddv.baselines.leave_one_out:leave_one_out",
            uses_coalitions=True,
        ),
        Method(
            "data-shapley",
            "Data Shapley",
            "Ghorbani and Zou (2019), ICML",
            _BOTH,
            "n·F a permutation, warm-started",
            "nddv.baselines.semivalues:data_shapley",
            uses_coalitions=True,
        ),
        Method(
            "beta-shapley",
            "Beta Shapley",
            "Kwon and Zou (2022), AISTATS",
            _BOTH,
            "n·F a permutation, warm-started",
            "nddv.baselines.semivalues:beta_shapley",
            uses_coalitions=True,
        ),
        Method(
            "data-banzhaf",
            "Data Banzhaf",
            "Wang and Jia (2023), AISTATS",
            _BOTH,
            "B·F",
            "nddv.baselines.subsamples:data_banzhaf",
            uses_coalitions=True,
        ),
        Method(
            "influence-function",
            "Influence (subsample)",
            "Feldman and Zhang (2020), NeurIPS",
            _BOTH,
            "B·F",
            "nddv.baselines.subsamples:influence_subsample",
            uses_coalitions=True,
        ),
        Method(
            "dvrl",
            "DVRL",
            "Yoon, Arik and Pfister (2020), ICML",
            _BOTH,
            "E·F",
            "nddv.baselines.dvrl:dvrl",
        ),
        Method(
            "knn-shapley",
            "KNN-Shapley",
            "Jia et al. (2019), PVLDB 12(11)",
            _BOTH,
            "m·n·(d + log n)",
            "nddv.baselines.neighbours:knn_shapley",
        ),
        Method(
            "ame",
            "AME",
            "Lin et al. (2022), ICML",
            _BOTH,
            "4·B·F, and a lasso of 4·B × n",
            "nddv.baselines.ame:average_marginal_effect",
            uses_coalitions=True,
        ),
        Method(
            "data-oob",
            "Data-OOB, logistic",
            "Kwon and Zou (2023), ICML",
            _TRAIN,
            "B·F",
            "nddv.baselines.oob:data_oob",
            uses_coalitions=True,
        ),
        Method(
            "data-oob-trees",
            "Data-OOB, trees",
            "Kwon and Zou (2023), ICML",
            _TRAIN,
            "B·n·√d·log n",
            "nddv.baselines.oob:data_oob_trees",
        ),
        Method(
            "du-shapley",
            "DU-Shapley",
            "Garrido-Lucero et al. (2024), NeurIPS",
            _BOTH,
            "n·F a pool",
            "nddv.baselines.distributional:du_shapley",
            uses_coalitions=True,
        ),
        Method(
            "lava",
            "LAVA",
            "Just et al. (2023), ICLR",
            _BOTH,
            "n·m·d, and the classes in pairs",
            "nddv.baselines.transport:lava",
        ),
        Method(
            "ghostsuite",
            "GhostSuite (in-run Shapley)",
            "Wang et al. (2024), arXiv 2406.11011",
            _BOTH,
            "E·n·d·C",
            "nddv.baselines.in_run:in_run_shapley",
        ),
        Method(
            "lossval",
            "LossVal",
            "Wibiral et al. (2024), arXiv 2412.04158",
            _BOTH,
            "E·n·m",
            "nddv.baselines.lossval:lossval",
        ),
        Method(
            "cs-shapley",
            "CS-Shapley",
            "Schoch, Xu and Ji (2022), NeurIPS",
            _BOTH,
            "n·F a sample",
            "nddv.baselines.class_wise:class_wise_shapley",
            uses_coalitions=True,
        ),
        Method(
            "volume-shapley",
            "VolumeShapley",
            "Xu et al. (2021), NeurIPS",
            _TRAIN,
            "n·d³ a permutation",
            "nddv.baselines.volume:volume_shapley",
        ),
        Method(
            "eigen-value",
            "Eigen-Value",
            _CHOI,
            _TRAIN,
            "n·d² + d³",
            "nddv.baselines.eigen:eigen_value",
        ),
        Method(
            "singular-lava",
            "SingularLAVA",
            _CHOI,
            _BOTH,
            "LAVA, and n·d² + d³",
            "nddv.baselines.eigen:singular_lava",
        ),
        Method(
            "singular-oob",
            "SingularOOB",
            _CHOI,
            _TRAIN,
            "Data-OOB, and n·d² + d³",
            "nddv.baselines.eigen:singular_oob",
            uses_coalitions=True,
        ),
        Method(
            "small-loss",
            "Small loss",
            "the control: log-likelihood under logistic regression",
            _TRAIN,
            "F",
            "nddv.baselines.loss:small_loss",
        ),
        Method(
            "random",
            "Random",
            "the chance line, measured",
            _TRAIN,
            "n",
            "nddv.baselines.chance:random_values",
        ),
    )
}


def get_method(name: str) -> Method:
    """Look a method up by name.

    ``odv:DataBanzhaf`` is OpenDataVal's evaluator of that name, ``nddv-path:interaction=10`` a
    readout of NDDV with one setting changed (:mod:`nddv.methods.variants`).
    """
    if name.startswith(OPENDATAVAL_PREFIX):
        evaluator = name.removeprefix(OPENDATAVAL_PREFIX)
        return Method(
            name,
            f"OpenDataVal's {evaluator}",
            "Jiang et al. (2023), OpenDataVal, NeurIPS",
            _BOTH,
            "OpenDataVal's",
            "nddv.integrations.opendataval:run_opendataval",
        )
    base, variant = split_variant(name)
    method = pick(METHODS, base, "method")
    if variant is None:
        return method
    if method.function != _NDDV_FIT:
        raise ValueError(f"{name!r}: only NDDV has variants")
    title = f"{method.title.partition(' (')[0]}, {variant.parameter} = {variant.setting}"
    return replace(method, name=name, title=title)
