"""The registry of methods: everything that can turn a problem into values.

A new method is one function and one entry here; its settings stand in the signature of the function
(:mod:`nddv.methods.signatures`). The functions are named, not imported: the Snakefile reads this
registry inside Snakemake's own environment, and a run depends on the code of its own method only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from nddv.dynamics.readouts import CLASSIFICATION, READOUTS, REGRESSION
from nddv.methods.signatures import read_signature
from nddv.methods.variants import NDDV_PREFIX, RELEASED, is_nddv, split_variant
from nddv.support.wording import pick

OPENDATAVAL_PREFIX = "odv:"
CLEANLAB_PREFIX = "cleanlab:"
CLEANLAB_SCORES = {
    "self_confidence": "cleanlab, self-confidence",
    "normalized_margin": "cleanlab, normalised margin",
    "confidence_weighted_entropy": "cleanlab, confidence-weighted entropy",
}
"""cleanlab's scores of label quality, and their titles."""
TASKS = (CLASSIFICATION, REGRESSION)


@dataclass(frozen=True)
class Method:
    """One way to value training points.

    Attributes
    ----------
    name : as in configuration, file names and tables.
    title : as in figures and tables for people.
    function : ``"module:function"``; see :mod:`nddv.methods.valuation` for what it is called with.
    cost : how its time grows: n training and m validation points, d features, C classes, E epochs,
        B drawn coalitions, F the cost of one fit.
    citation : where it comes from.
    needs : parts of the problem that it reads.
    tasks : of the problems that it can value.
    reading : ``"module:function"`` of the values, where ``function`` gives fits that several
        methods read; "" where it gives values.
    """

    name: str
    title: str
    function: str
    cost: str
    citation: str
    needs: tuple[str, ...]
    tasks: tuple[str, ...] = (CLASSIFICATION,)
    reading: str = ""

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules that decide its values, with all that they import, below the library."""
        functions = filter(None, (self.function, self.reading))
        names = (function.partition(":")[0].removeprefix("nddv.") for function in functions)
        return (*dict.fromkeys(names), "methods.valuation")


def _rule(
    name: str,
    title: str,
    function: str,
    cost: str,
    citation: str,
    task: str = CLASSIFICATION,
    reading: str = "",
) -> Method:
    """A baseline; the parameters of its function say what it needs.

    task : of a rule that reads labels; any other serves all tasks.
    """
    signature = read_signature(function)
    tasks = (task,) if signature.reads_labels else TASKS
    return Method(name, title, function, cost, citation, signature.needs, tasks, reading)


_NDDV_FIT = "nddv.estimator.nddv:NDDV"
_CHOI = "Choi et al. (2026), arXiv 2510.23409"
_LEVELS = "ours, after Owen (1972) and Aumann and Shapley (1974)"
_CLEANLAB = "a control: self-confidence of Northcutt, Jiang and Chuang (2021), JAIR"

_READOUTS = [
    Method(
        *(NDDV_PREFIX + r.name, r.title, _NDDV_FIT, r.cost, r.citation, r.needs),
        tuple(task for task in TASKS if task in r.tasks),
    )
    for r in READOUTS.values()
]
# fmt: off
_RULES = [
    _rule(RELEASED, "NDDV, as released", "nddv.baselines.released:released",
          "E·n·d", "the paper's authors; from a description of what their code computes"),
    _rule("loo", "LOO", "nddv.baselines.leave_one_out:leave_one_out",
          "n·F, warm-started", "Cook (1977); Koh and Liang (2017), ICML"),
    _rule("data-shapley", "Data Shapley", "nddv.baselines.semivalues:data_shapley",
          "n·F a permutation, warm-started", "Ghorbani and Zou (2019), ICML"),
    _rule("beta-shapley", "Beta Shapley", "nddv.baselines.semivalues:beta_shapley",
          "n·F a permutation, warm-started", "Kwon and Zou (2022), AISTATS"),
    _rule("data-banzhaf", "Data Banzhaf", "nddv.baselines.subsamples:data_banzhaf",
          "B·F", "Wang and Jia (2023), AISTATS"),
    _rule("influence-function", "Influence (subsample)",
          "nddv.baselines.subsamples:influence_subsample",
          "B·F", "Feldman and Zhang (2020), NeurIPS"),
    _rule("dvrl", "DVRL", "nddv.baselines.dvrl:dvrl",
          "E·F", "Yoon, Arik and Pfister (2020), ICML"),
    _rule("knn-shapley", "KNN-Shapley", "nddv.baselines.neighbours:knn_shapley",
          "m·n·(d + log n)", "Jia et al. (2019), PVLDB 12(11)"),
    _rule("ame", "AME", "nddv.baselines.ame:average_marginal_effect",
          "4·B·F, and a lasso of 4·B × n", "Lin et al. (2022), ICML"),
    _rule("data-oob", "Data-OOB, logistic", "nddv.baselines.oob:data_oob",
          "B·F", "Kwon and Zou (2023), ICML"),
    _rule("data-oob-trees", "Data-OOB, trees", "nddv.baselines.oob:data_oob_trees",
          "B·n·√d·log n", "Kwon and Zou (2023), ICML"),
    _rule("du-shapley", "DU-Shapley", "nddv.baselines.distributional:du_shapley",
          "n·F a pool", "Garrido-Lucero et al. (2024), NeurIPS"),
    _rule("lava", "LAVA", "nddv.baselines.transport:lava",
          "n·m·d, and the classes in pairs", "Just et al. (2023), ICLR"),
    _rule("kairos", "KAIROS", "nddv.baselines.discrepancy:kairos",
          "n²·d + n·m·d + m³", "Zhu et al. (2025), NeurIPS"),
    _rule("ghostsuite", "GhostSuite (in-run Shapley)", "nddv.baselines.in_run:in_run_shapley",
          "E·n·d·C", "Wang et al. (2024), arXiv 2406.11011"),
    _rule("lossval", "LossVal", "nddv.baselines.lossval:lossval",
          "E·n·m", "Wibiral et al. (2024), arXiv 2412.04158"),
    _rule("cs-shapley", "CS-Shapley", "nddv.baselines.class_wise:class_wise_shapley",
          "n·F a sample", "Schoch, Xu and Ji (2022), NeurIPS"),
    _rule("volume-shapley", "VolumeShapley", "nddv.baselines.volume:volume_shapley",
          "n·d³ a permutation", "Xu et al. (2021), NeurIPS"),
    _rule("eigen-value", "Eigen-Value", "nddv.baselines.eigen:eigen_value",
          "n·d² + d³", _CHOI),
    _rule("singular-lava", "SingularLAVA", "nddv.baselines.eigen:singular_lava",
          "LAVA, and n·d² + d³", _CHOI),
    _rule("singular-oob", "SingularOOB", "nddv.baselines.eigen:singular_oob",
          "Data-OOB, and n·d² + d³", _CHOI),
    _rule("shapley-level", "Shapley, by level", "nddv.baselines.levels:shapley_level",
          "24·F + 8·n·d²·C²", _LEVELS),
    _rule("banzhaf-level", "Banzhaf, by level", "nddv.baselines.levels:banzhaf_level",
          "3·F + n·d²·C²", _LEVELS),
    _rule("beta-level", "Beta Shapley, by level", "nddv.baselines.levels:beta_level",
          "24·F + 8·n·d²·C²", _LEVELS),
    _rule("influence-level", "Influence, at level 1", "nddv.baselines.levels:influence_level",
          "F", "Cook (1977); Koh and Liang (2017), ICML"),
    _rule("small-loss", "Small loss", "nddv.baselines.loss:small_loss",
          "F", "the control: log-likelihood under logistic regression"),
    _rule("boosting", "Gradient boosting, out of fold", "nddv.baselines.out_of_fold:boosting",
          "5·F, F = C·n·d a tree", _CLEANLAB,
          reading="nddv.baselines.out_of_fold:self_confidence"),
    _rule("boosting-slow", "Gradient boosting, out of fold, slow",
          "nddv.baselines.out_of_fold:boosting_slow",
          "5·F, F = C·n·d a tree", _CLEANLAB),
    _rule("boosting-confident", "Gradient boosting, confident learning",
          "nddv.baselines.out_of_fold:boosting",
          "5·F, F = C·n·d a tree", "a control: Northcutt, Jiang and Chuang (2021), JAIR",
          reading="nddv.baselines.confident:confident_learning"),
    _rule("logistic-oof", "Logistic regression, out of fold",
          "nddv.baselines.out_of_fold:logistic_out_of_fold",
          "5·F", _CLEANLAB),
    _rule("aum", "AUM of an MLP", "nddv.baselines.margins:area_under_margin",
          "E·n·d", "a control: Pleiss et al. (2020), NeurIPS"),
    _rule("forest-residual", "Forest, out-of-bag residuals",
          "nddv.baselines.residuals:forest_residual",
          "B·n·d·log n", "the control of regression: Data-OOB's forest, by absolute error",
          task=REGRESSION),
    _rule("features", "Typical features", "nddv.baselines.typicality:typicality",
          "n·d·log n + min(n, 5000)·n·d", "ours: nearest values and nearest rows; no labels"),
    _rule("random", "Random", "nddv.baselines.chance:random_values",
          "n", "the chance line, measured"),
]
# fmt: on
METHODS = {method.name: method for method in (*_READOUTS, *_RULES)}

VARIANT_READOUTS = [NDDV_PREFIX + r.name for r in READOUTS.values() if r.variant]
"""The methods that are read out of the one fit of a variant."""

REPLAYED_READOUTS = [NDDV_PREFIX + r.name for r in READOUTS.values() if r.replays]
"""The methods that go back through all steps of a training, which takes longer than the fit."""


def get_method(name: str) -> Method:
    """Look a method up by name.

    ``odv:DataBanzhaf`` is OpenDataVal's evaluator of that name, ``cleanlab:self_confidence`` a
    score of cleanlab, ``nddv-path:interaction=10`` a readout of NDDV with one setting changed
    (:mod:`nddv.methods.variants`).
    """
    if name.startswith(OPENDATAVAL_PREFIX):
        evaluator = name.removeprefix(OPENDATAVAL_PREFIX)
        return Method(
            name,
            f"OpenDataVal's {evaluator}",
            "nddv.integrations.opendataval:run_opendataval",
            "OpenDataVal's",
            "Jiang et al. (2023), OpenDataVal, NeurIPS",
            ("train", "valid"),
        )
    if name.startswith(CLEANLAB_PREFIX):
        title = pick(CLEANLAB_SCORES, name.removeprefix(CLEANLAB_PREFIX), "score of cleanlab")
        function = "nddv.integrations.cleanlab:run_cleanlab"
        return _rule(name, title, function, "5·F", "Northcutt, Jiang and Chuang (2021), JAIR")
    base, variant = split_variant(name)
    method = pick(METHODS, base, "method")
    if variant is None:
        return method
    if not is_nddv(name):
        raise ValueError(f"{name!r}: only NDDV has variants")
    title = f"{method.title.partition(' (')[0]}, {variant.parameter} = {variant.setting}"
    return replace(method, name=name, title=title)
