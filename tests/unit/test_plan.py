"""What a configuration asks for, without Snakemake."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from nddv.methods.registry import METHODS
from nddv.problems import registry
from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.catalogue.tables import TABLES
from nddv.support.provenance import sources
from nddv.support.schemas import ConfigurationError
from nddv.workflow.plan import Plan
from nddv.workflow.sources import FACTS, SOURCES
from nddv.workflow.valuations import PROBLEM

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "src" / "nddv"
PLANES = {"dataset": "2dplanes", "n": 60, "corruption": "label10"}


@pytest.fixture(scope="module")
def embedded(configuration):
    return Plan.of(configuration("embedded"), ROOT)


@pytest.fixture(scope="module")
def small(configuration):
    overlay = {
        "parts": ["detection"],
        "problems": [
            {**PLANES, "methods": ["nddv-path", "random"], "why": "too slow"},
            {**PLANES, "dataset": "digits"},
        ],
        "methods": ["nddv-path", "loo", "random"],
    }
    return Plan.of(configuration("embedded", overlay), ROOT)


def test_a_plan_cannot_be_changed(small):
    with pytest.raises(FrozenInstanceError):
        small.config = {}


def test_problems_and_gaps_are_told_apart(configuration):
    overlay = {"problems": [PLANES, {**PLANES, "dataset": "imagenet100@resnet50"}]}
    plan = Plan.of(configuration("embedded", overlay), ROOT)
    assert [problem["dataset"] for problem in plan.main.problems] == ["2dplanes"]
    assert [gap["dataset"] for gap in plan.main.gaps] == ["imagenet100@resnet50"]
    assert plan.main.gaps[0]["reason"]
    assert plan.fact("gaps") == plan.main.gaps


def test_without_any_data_set_the_error_has_the_reasons(configuration):
    overlay = {"problems": [{**PLANES, "dataset": "imagenet100@resnet50"}]}
    with pytest.raises(ConfigurationError, match="no data set is available. imagenet100"):
        Plan.of(configuration("embedded", overlay), ROOT)


@pytest.mark.parametrize("part", ["sensitivity", "pictures"])
def test_a_part_without_its_data_set_is_an_error_only_where_it_is_asked_for(configuration, part):
    problem = {part: {"problem": {**PLANES, "dataset": "imagenet100@resnet50"}}}
    with pytest.raises(ConfigurationError, match=f"{part}: imagenet100@resnet50 is not available"):
        Plan.of(configuration("embedded", problem), ROOT)
    assert Plan.of(configuration("embedded", {**problem, "parts": ["detection"]}), ROOT)


def test_an_unknown_part_is_named_with_the_nearest(configuration):
    with pytest.raises(ConfigurationError, match=r"parts\[1\]: .*'adits'; did you mean 'audits'"):
        Plan.of(configuration({"parts": ["detection", "adits"]}), ROOT)


def test_methods_of_problems(small):
    assert small.methods_by_problem == {
        "2dplanes/n60/label10": ["nddv-path", "random"],
        "digits/n60/label10": ["nddv-path", "loo", "random"],
    }
    assert small.values_of("2dplanes/n60/label10", ".npz")[:2] == [
        f"results/values/2dplanes/n60/label10/seed{seed}/nddv-path.npz" for seed in small.seeds[:2]
    ]
    with pytest.raises(ConfigurationError, match="in none of the parts"):
        small.values_of("pol/n60/label10", ".npz")


def test_methods_left_out_are_gaps_with_the_reason_of_the_configuration(small):
    (gap,) = small.fact("experiment_gaps:detection_n60")
    assert gap["dataset"] == "2dplanes"
    assert (gap["method"], gap["reason"]) == ("loo", "too slow")


def test_a_problem_may_be_without_some_methods_each_with_its_reason(configuration):
    overlay = {
        "parts": ["detection"],
        "problems": [PLANES | {"without": {"loo": "an hour a seed"}}],
        "methods": ["nddv-path", "loo", "random"],
    }
    plan = Plan.of(configuration("embedded", overlay), ROOT)
    assert plan.methods_of(plan.main.problems[0]) == ["nddv-path", "random"]
    (gap,) = plan.fact("experiment_gaps:detection_n60")  # though no problem of the table has it
    assert (gap["method"], gap["reason"]) == ("loo", "an hour a seed")


def test_methods_for_regression_value_no_main_problem(configuration):
    full = Plan.of(configuration(), ROOT)
    assert "forest-residual" in full.config["methods"]
    regression = {"forest-residual", "nddv-residual"}
    assert full.fact("methods") == [m for m in full.config["methods"] if m not in regression]
    for problem in full.main.problems:
        assert not regression & {*full.methods_by_problem[PROBLEM.format(**problem)]}
    assert full.methods_by_problem["houses/n1000/target10"] == [
        *("nddv-residual", "nddv-path", "nddv-participation", "forest-residual", "random")
    ]


def test_wrong_targets_are_a_table_of_detection(embedded):
    entry = embedded.tables["wrong_targets"]
    assert embedded.inputs(entry)["scores"] == [
        "results/evaluation/fire_target/n1000/target10/detection.csv",
        "results/evaluation/houses/n1000/target10/detection.csv",
    ]
    assert "forest-residual" in embedded.baselines


def test_an_experiment_that_is_not_asked_for_says_so(small):
    entry = small.tables["label_noise_rates"]
    with pytest.raises(ConfigurationError, match="`experiments` is not among the parts"):
        small.inputs(entry)


def test_variants_are_the_settings_that_are_not_usual(configuration):
    grid = {"interaction": [1.0, 5.0], "meta_size": [100, 7]}
    plan = Plan.of(configuration({"sensitivity": {"grid": grid}}), ROOT)
    overlay_only = [name for name in plan.variants if name.split(":")[1].split("=")[0] in grid]
    assert set(overlay_only) == {
        "nddv-terminal:interaction=5.0",
        "nddv-path:interaction=5.0",
        "nddv-terminal:meta_size=7",  # no weights of the path readout are learned on meta data
    }


def test_what_is_usual_depends_on_the_readout(configuration):
    plan = Plan.of(configuration(), ROOT)
    usual, grid = plan.grid_defaults, plan.config["sensitivity"]["grid"]
    assert plan.fact("defaults") == usual
    assert list(usual["nddv-terminal"]) == list(grid)
    assert set(grid) - set(usual["nddv-path"]) == {"meta_size", "meta_hidden"}
    assert usual["nddv-terminal"]["reweighting"] == "lookahead"
    assert usual["nddv-path"]["reweighting"] == "self"
    assert [name for name in plan.variants if "reweighting" in name] == [
        *("nddv-terminal:reweighting=none", "nddv-path:reweighting=none"),
        *("nddv-terminal:reweighting=self", "nddv-path:reweighting=lookahead"),
    ]
    assert len(plan.variants) == len(set(plan.variants))
    paper = {"settings": {"nddv": {"configuration": "paper"}}}
    usual = Plan.of(configuration(paper), ROOT).grid_defaults
    assert usual["nddv-path"] == usual["nddv-terminal"]


def test_readouts_are_asked_of_the_problems_that_they_can_value(configuration):
    grid = {"datasets": ["houses"], "n": [60], "corruptions": ["target10"]}
    grid["methods"] = ["nddv-path", "nddv-residual"]
    wanted = {"experiments": {"wrong_targets": {"grids": [grid]}}}
    plan = Plan.of(configuration(wanted), ROOT)
    assert "nddv-residual" in plan.readouts_for("regression")
    assert "nddv-residual" not in plan.readouts_for("classification")
    assert set(plan.readouts_for("classification")) <= set(plan.readouts_for("regression"))


def test_resampled_problems_are_those_that_say_so(configuration):
    problems = [PLANES, {**PLANES, "dataset": "digits", "resample": True}]
    plan = Plan.of(configuration("embedded", {"problems": problems}), ROOT)
    assert not plan.problem_options("2dplanes/n60/label10")["resample"]
    assert plan.problem_options("digits/n60/label10")["resample"]


def test_every_source_and_fact_of_the_catalogue_is_known(embedded):
    entries = [*embedded.tables.values(), *embedded.figures.values()]
    for entry in entries:
        assert {source.partition(":")[0] for source in entry.reads.values()} <= set(SOURCES)
        assert {fact.partition(":")[0] for fact in entry.facts.values()} <= set(FACTS)
        files = embedded.inputs(entry)
        assert set(files) == set(entry.reads)
        facts = embedded.told(entry)
        assert any(files.values()) or facts.get("gaps"), (
            f"{entry.name} reads nothing, and says nothing"
        )


def test_no_source_and_no_fact_is_unused(embedded):
    entries = [*embedded.tables.values(), *embedded.figures.values()]
    reads = {source.partition(":")[0] for entry in entries for source in entry.reads.values()}
    facts = {fact.partition(":")[0] for entry in entries for fact in entry.facts.values()}
    facts |= {figure.methods.partition(":")[0] for figure in FIGURES.values() if figure.methods}
    assert reads == set(SOURCES)
    assert facts == set(FACTS)


def test_parts_are_those_of_the_catalogue(embedded):
    files = {part: embedded.part_files(part) for part in embedded.parts}
    assert "reports/tables/leaders.csv" in files["detection"]
    assert "reports/figures/overview.png" in files["pictures"]
    assert files["page"][0] == "reports/index.html"
    assert all(files.values())
    every = [path for paths in files.values() for path in paths]
    assert len(every) == len(set(every))
    assert {f"reports/tables/{name}.csv" for name in TABLES} <= set(every)


def test_what_needs_adult_is_left_out_without_it(small):
    assert "adult_score_gaps" not in small.tables
    assert "threshold_sensitivity" in small.tables


def test_claims_read_every_table_but_themselves(embedded):
    files = embedded.files("tables")
    assert "reports/tables/leaders.csv" in files
    assert not any("claim" in path for path in files)


def test_a_timing_has_the_longest_of_its_timeouts(configuration):
    grid = {"n": [60], "features": [4], "valid": ["fixed", "tenth"]}
    loo, oob = ({**grid, "methods": [name]} for name in ("loo", "data-oob"))
    tables = {"wallclock_scaling": [{**loo, "timeout": 7}], "elapsed_time": [loo, oob]}
    overlay = {"timings": {"timeout": 5, "tables": tables}}
    timings = Plan.of(configuration(overlay), ROOT).timings
    assert timings.timeout("loo/n60/d4/fixed") == 7
    assert timings.timeout("data-oob/n60/d4/none") == timings.timeout("unknown") == 5
    assert timings.files("elapsed_time") == [
        "results/timings/loo/n60/d4/fixed.csv",
        "results/timings/loo/n60/d4/tenth.csv",
        "results/timings/data-oob/n60/d4/none.csv",  # it reads no validation rows
    ]


def test_semivalues_are_compared_on_some_of_the_seeds(configuration):
    changed = {"datasets": ["2dplanes", "imagenet100@resnet50"], "n": 60, "seeds": 2}
    settings = {"knn-shapley": {"k": 3}}
    plan = Plan.of(configuration({"semivalues": changed, "settings": settings}), ROOT)
    assert plan.compared_seeds == plan.fact("semivalue_seeds") == plan.seeds[:2]
    assert plan.files("semivalues:shares") == [
        f"results/audits/2dplanes/n60/label10/seed{seed}/semivalues/shares.csv"
        for seed in plan.seeds[:2]
    ]
    assert [gap["dataset"] for gap in plan.fact("semivalue_gaps")] == ["imagenet100@resnet50"]
    assert plan.comparison["settings"]["knn-shapley"] == {"k": 3}
    assert {"budgets", "reference", "alpha", "laws"} < set(plan.comparison)
    assert not {"datasets", "n", "corruptions", "seeds"} & set(plan.comparison)


def test_networks_read_pixels_and_words_of_some_of_the_seeds(configuration):
    of = {"mlp": ["digits"], "convolution": ["imagenet100@resnet50"], "bag": ["bbc@minilm"]}
    trained = {module: {"datasets": datasets} for module, datasets in of.items()}
    changed = {"n": 60, "seeds": 2, "methods": ["knn-shapley"], "trained": trained}
    settings = {"knn-shapley": {"k": 3}}
    sources = ["package", "scikit-learn", "generated"]
    overlay = {"modules": changed, "settings": settings, "sources": sources}
    plan = Plan.of(configuration(overlay), ROOT)
    assert plan.trained_seeds == plan.fact("module_seeds") == plan.seeds[:2]
    assert plan.files("modules:costs") == [
        f"results/audits/{dataset}/n60/label10/seed{seed}/modules/{module}/costs.csv"
        for dataset, module in (("digits", "mlp"), ("bbc@minilm", "bag"))
        for seed in plan.seeds[:2]
    ]
    (gap,) = plan.fact("module_gaps")
    assert (gap["dataset"], gap["module"]) == ("imagenet100@resnet50", "convolution")
    read = {name: plan.items_of(name) for name in ("digits", "bbc@minilm", "cifar10@resnet50")}
    assert list(read.values()) == ["digits", "bbc@words", "cifar10@pixels"]
    told = plan.training("mlp")
    assert told["settings"] == {"knn-shapley": {"k": 3}}
    assert told["replay"]["epochs"] == 20
    assert not {"datasets", "n", "corruptions", "seeds", "trained"} & set(told)


def test_the_hash_of_the_configuration_counts_settings_at_their_default(configuration, monkeypatch):
    before = Plan.of(configuration(), ROOT).provenance
    same = configuration({"settings": {"nddv": {"width": 32}}})
    assert Plan.of(same, ROOT).provenance == before
    other = configuration({"settings": {"nddv": {"width": 33}}})
    assert Plan.of(other, ROOT).provenance != before


@pytest.mark.parametrize(
    "overlays", [(), ("embedded",), ("embedded", "quick"), ("embedded", "complete")]
)
def test_the_documents_of_the_project_fit_its_configurations(configuration, overlays):
    Plan.of(configuration(*overlays), ROOT).check_documents()


def rules_that_compute():
    """The modules of every ``source_hash(...)`` of the rules, apart from those of the report."""
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        if path.name != "reporting.smk":
            for arguments in re.findall(r"source_hash\(([^*)]*)\)", path.read_text()):
                yield re.findall(r'"([a-z_.]+)"', arguments)


REGISTRIES = {"methods/registry.py", "dynamics/readouts.py", "reporting"}


@pytest.mark.parametrize(
    "modules",
    [*rules_that_compute(), *(METHODS[name].modules for name in METHODS)],
    ids=",".join,
)
def test_a_title_or_caption_reruns_nothing_that_computes(modules):
    files = {path.relative_to(LIBRARY).as_posix() for path in sources(*modules, root=LIBRARY)}
    assert not {path for path in files if path.startswith(tuple(REGISTRIES))}


def test_a_comment_in_one_evaluation_does_not_rerun_another():
    files = {path.name for path in sources("evaluation.collect", root=LIBRARY)}
    assert "detection.py" in files
    assert not {"kernels.py", "curation.py", "groups.py", "runs.py"} & files


def test_data_sets_that_are_named_are_those_of_the_configuration(embedded):
    known = set(embedded.config["datasets"])
    assert {registry.split_name(name)[0] for name in embedded.datasets} <= known
