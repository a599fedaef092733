"""A mistake in the configuration is one line that names its key and what would be right."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from nddv.methods.settings import schema as settings_schema
from nddv.support.schemas import ConfigurationError, check, read_schema, read_yaml, shown
from nddv.workflow.configuration import check_configuration

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"

ONE = {"dataset": "2dplanes", "n": 60, "corruption": "label10"}
GRID = {"datasets": ["2dplanes"], "n": [60], "corruptions": ["label10"], "methods": ["random"]}
TIMING = {"n": [60], "features": [4], "valid": ["fixed"], "methods": ["loo"]}


@pytest.mark.parametrize(
    "overlays", [(), ("embedded",), ("embedded", "quick"), ("embedded", "complete")]
)
def test_the_configurations_of_the_project_are_right(configuration, overlays):
    config = configuration(*overlays)
    before = deepcopy(config)
    check_configuration(config, ROOT)
    assert config == before


def test_a_configuration_needs_no_settings(configuration):
    check_configuration({**configuration(), "settings": {}}, ROOT)


def problem(**changes):
    return {"problems": [{**ONE, **changes}]}


def rates(**changes):
    return {"experiments": {"label_noise_rates": {"grids": [{**GRID, **changes}]}}}


def timing(**changes):
    return {"timings": {"tables": {"elapsed_time": [{**TIMING, **changes}]}}}


def nddv(**settings):
    return {"settings": {"nddv": settings}}


AT_RATES = "experiments.label_noise_rates.grids[0]"
READY = {"kind": "local", "path": "x.npz", "read": "embeddings"}
OWN = {"source": "csv", "path": "none.csv", "target": "y"}


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        # keys
        ({"seedz": [1]}, "seedz: unknown key; did you mean 'seeds'?"),
        (nddv(epochz=3), "settings.nddv.epochz: unknown key; did you mean 'epochs'?"),
        ({"settings": {"nddv-path": {}}}, "settings.nddv-path: unknown key; did you mean 'nddv'?"),
        ({"settings": {"knn-shapley": {"kk": 3}}}, "settings.knn-shapley.kk: unknown key; did you"),
        (problem(corrupt="label10"), "problems[0].corrupt: unknown key; did you mean 'corruption'"),
        ({"problems": [{"dataset": "adult", "n": 60}]}, "problems[0]: the key 'corruption' is mis"),
        (
            {"datasets": {"elecricity": {"rows": 100}}},
            "datasets.elecricity: the key 'title' is missing; or did you mean 'electricity'?",
        ),
        (
            {"experiments": {"label_noise_ratez": {"grids": []}}},
            "experiments.label_noise_ratez: the key 'title' is missing; or did you mean 'label_no",
        ),
        ({"datasets": {"mine": {**OWN, "tagret": 1}}}, "datasets.mine.tagret: unknown key; did y"),
        (
            {"encoders": {"minilm": {"settings": {"max_tokenz": 3}}}},
            "encoders.minilm.settings.max_tokenz: unknown key; did you mean 'max_tokens'?",
        ),
        ({"settings": {"lavas": {}}}, "settings.lavas: unknown key; did you mean 'lava'?"),
        ({"settings": {1: {}}}, "settings: the key 1 is not text: put it in quotes"),
        # names
        ({"sources": ["web"]}, "sources[0]: unknown name 'web'; known: local, official, package"),
        (problem(dataset="3dplanes"), "problems[0].dataset: unknown data set '3dplanes'; did you"),
        (problem(dataset="bbc"), "problems[0].dataset: bbc holds texts and needs an encoder: wri"),
        (problem(dataset="bbc@minilmm"), "unknown encoder 'minilmm'; did you mean 'minilm'?"),
        (problem(corruption="labl10"), "problems[0].corruption: unknown corruption 'labl10'; did"),
        (problem(corruption="clean"), "problems[0].corruption: 'clean' leaves nothing to detect"),
        (problem(corruption="label60+gauss60"), "leaves no point clean"),
        (problem(corruption="label5+gauss5+feature5"), "write it as 'label5+feature5+gauss5'"),
        # tasks
        (problem(corruption="target10"), "problems[0].corruption: target noise is for regression"),
        (
            problem(dataset="houses", corruption="feature10"),
            "problems[0].dataset: houses has real-valued targets; only `experiments` take them",
        ),
        (
            {"audits": {"bridge": {"datasets": ["houses"]}}},
            "audits.bridge.datasets[0]: houses has real-valued targets",
        ),
        (rates(corruptions=["target10"]), f"{AT_RATES}: 2dplanes: target noise is for regression"),
        (rates(datasets=["2dplanes", "houses"]), f"{AT_RATES}: houses: label noise is for class"),
        ({"datasets": {"adult": {"task": "ranking"}}}, "datasets.adult.task: unknown name 'rank"),
        ({"methods": ["nddv-pat"]}, "methods[0]: unknown method 'nddv-pat'; did you mean 'nddv-p"),
        (problem(methods=["odv:Data Banzhaf"]), "problems[0].methods[0]: unknown method 'odv:Dat"),
        (rates(datasets=["adutl"]), f"{AT_RATES}.datasets[0]: unknown data set 'adutl'; did you"),
        (
            rates(methods=["nddv-path:interactoin=3"]),
            f"{AT_RATES}.methods[0]: unknown setting of NDDV 'interactoin'; did you mean 'inter",
        ),
        (rates(methods=["nddv-path:control=kam"]), "control unknown name 'kam'; did you mean 'k"),
        (rates(methods=["nddv-path:steps=0"]), "steps must be at least 1, not 0"),
        (rates(methods=["loo:C=3"]), "only NDDV has variants"),
        (rates(methods=["nddv-participation:steps=5"]), "variants have the readouts nddv-term"),
        (
            {"sensitivity": {"grid": {"diffusoin": [1]}}},
            "sensitivity.grid.diffusoin[0]: unknown setting of NDDV 'diffusoin'; did you mean 'd",
        ),
        ({"curation": {"methods": ["lo"]}}, "curation.methods[0]: unknown method 'lo'; did you"),
        ({"audits": {"methods": ["loo"]}}, "audits.methods: nddv-participation must be among them"),
        (
            {"audits": {"methods": ["nddv-participation", "forest-residual"]}},
            "audits.methods: forest-residual is not for classes",
        ),
        ({"audits": {"bridge": {"datasets": ["digit"]}}}, "audits.bridge.datasets[0]: unknown d"),
        ({"semivalues": {"datasets": ["digit"]}}, "semivalues.datasets[0]: unknown data set"),
        ({"semivalues": {"corruptions": ["clean"]}}, "semivalues.corruptions[0]: 'clean' leaves"),
        ({"semivalues": {"laws": {"shaply": {}}}}, "semivalues.laws: "),
        (
            {"semivalues": {"laws": {"banzhaf": {"methods": ["lo"]}}}},
            "semivalues.laws.banzhaf.methods[0]: unknown method 'lo'; did you",
        ),
        ({"semivalues": {"budgets": [0]}}, "semivalues.budgets[0]: must be above 0"),
        ({"semivalues": {"reference": {"reliability": 1}}}, "semivalues.reference.reliability: "),
        (
            {"modules": {"trained": {"mlp": {"datasets": ["digit"]}}}},
            "modules.trained.mlp.datasets[0]: unknown data set",
        ),
        ({"modules": {"trained": {"mpl": {}}}}, "modules.trained"),
        ({"modules": {"corruptions": ["feature10"]}}, "modules.corruptions[0]: "),
        (problem(without={"lo": "slow"}), "problems[0].without: unknown method 'lo'; did you"),
        (problem(without={"loo": ""}), "problems[0].without.loo:"),
        ({"modules": {"methods": ["lo"]}}, "modules.methods[0]: unknown method 'lo'; did you"),
        (
            {"modules": {"trained": {"bag": {"replay": {"epochz": 3}}}}},
            "modules.trained.bag.replay.epochz: unknown key; did you mean 'epochs'?",
        ),
        (timing(methods=["ghost"]), "timings.tables.elapsed_time[0].methods[0]: unknown method"),
        (timing(methods=["nddv-path:steps=2"]), "variants are not timed"),
        (timing(valid=["fxied"]), "elapsed_time[0].valid[0]: unknown name 'fxied'; did you mean"),
        (
            {"encoders": {"minilm": {"function": "nddv.problems.encoders.txt:mean"}}},
            "encoders.minilm.function: no module 'nddv.problems.encoders.txt'; did you mean",
        ),
        (
            {"encoders": {"minilm": {"function": "nddv.problems.encoders.text:mean"}}},
            "encoders.minilm.function: unknown function of nddv.problems.encoders.text 'mean'",
        ),
        (
            {"datasets": {"bbc": {"sources": [{**READY, "encoder": "minilmm"}]}}},
            "datasets.bbc.sources[0].encoder: unknown encoder 'minilmm'; did you mean 'minilm'?",
        ),
        # types and numbers
        ({"parts": "detection"}, "parts: must be a list, not 'detection'"),
        (nddv(epochs="many"), "settings.nddv.epochs: must be a whole number, not 'many'"),
        (nddv(epochs=-3), "settings.nddv.epochs: must be at least 1, not -3"),
        (nddv(epochs=True), "settings.nddv.epochs: must be a whole number, not true"),
        (nddv(width=10**12), "settings.nddv.width: must be at most 1000000, not 1000000000000"),
        (nddv(nu=2), "settings.nddv.nu: must be one of 0.5, 1.5, 2.5, inf, not 2"),
        (nddv(diffusion=float("nan")), "settings.nddv.diffusion: must be a number, not nan"),
        (nddv(diffusion=float("inf")), "settings.nddv.diffusion: must be at most"),
        (nddv(learning_rate="1e-3"), "must be a number, not '1e-3'; without quotes"),
        (nddv(learning_rate=1e9), "settings.nddv.learning_rate: must be at most 1000000, not"),
        (nddv(members="all"), "must be a whole number, not 'all'; it may also be 'auto'"),
        (problem(n=60.0), "problems[0].n: must be a whole number, not 60.0"),
        (rates(n=60), f"{AT_RATES}.n: must be a list, not 60"),
        ({"seeds": [1, 1]}, "seeds: 1 is listed twice"),
        ({"seeds": []}, "seeds: has too few entries: 0, and needs 1"),
        ({"seeds": [-1]}, "seeds[0]: must be at least 0, not -1"),
        ({"detection": {"minimum_flagged": 2}}, "detection.minimum_flagged: must be at most 1"),
        ({"sizes": {"valid": 1.5}}, "sizes.valid: 1.5 does not fit: A whole number of rows, or"),
        ({"sizes": {"valid": 0.001}}, "sizes.valid: 0.001 of n = 60 is less than a row"),
        (
            {"sensitivity": {"grid": {"meta_size": [1000]}}},
            "sensitivity.grid.meta_size[0]: meta_size must be a whole number from 1 to 100, not",
        ),
        ({"settings": {"knn-shapley": {"k": 0}}}, "knn-shapley.k: must be at least 1, not 0"),
        ({"settings": {"lava": {"entropy": 1e9}}}, "lava.entropy: must be at most 1000000, not"),
        ({"settings": {"loo": {"utility": "f1"}}}, "settings.loo.utility: unknown name 'f1'; kn"),
        ({"settings": {"cs-shapley": {"utility": "accuracy"}}}, "cs-shapley.utility: unknown key"),
        ({"settings": {"ame": {"rates": [0.2, 1]}}}, "ame.rates[1]: must be below 1, not 1"),
        ({"settings": {"du-shapley": {"num_pools": 3}}}, "num_pools: must be a multiple of 2"),
        ({"settings": {"data-oob": {"soft": "no"}}}, "soft: must be true or false, not 'no'"),
        ({"settings": 3}, "settings: must be a mapping of keys to values, not 3"),
        ({"corrupt_valid": "yes"}, "corrupt_valid: must be true or false, not 'yes'"),
        # what belongs together
        ({"problems": [ONE, {**ONE, "resample": True}]}, "problems: 2dplanes/n60/label10 is lis"),
        (
            {"experiments": {"label_noise_rates": {"grids": [GRID, GRID]}}},
            "experiments.label_noise_rates: 2dplanes/n60/label10 is listed twice",
        ),
        ({"datasets": {"mine": {"source": "csv", "path": "x.csv"}}}, "datasets.mine: the key 'ta"),
        (
            {"datasets": {"mine": OWN}, **problem(dataset="mine")},
            "problems[0].dataset: there is no file none.csv, seen from",
        ),
        (
            {"datasets": {"adult": {"sources": [{"kind": "official"}]}}},
            "datasets.adult.sources[0]: needs one of the keys openml or urls, and one only",
        ),
        ({"datasets": {"bbc": {"label": "("}}}, "datasets.bbc.label: '(' does not fit: Regular"),
        ({"datasets": {"a b": OWN}}, "datasets: 'a b' does not fit: Names have letters"),
    ],
)
def test_a_mistake_is_one_line_with_its_key(configuration, overlay, message):
    with pytest.raises(ConfigurationError) as caught:
        check_configuration(configuration({"problems": [ONE]}, overlay), ROOT)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_number_of_the_schemas_has_bounds():
    """So that no absurd number gets as far as a job."""

    def numbers(schema, where):
        if isinstance(schema, dict):
            if any(kind in str(schema.get("type")) for kind in ("number", "integer")):
                yield where, schema
            for key, part in schema.items():
                yield from numbers(part, f"{where}.{key}")

    free = {"anyOf", "values", "grid"}  # of an alternative, or checked elsewhere
    names = ("config", "datasets", "encoders")
    files = {name: read_schema(SCHEMAS / f"{name}.schema.yaml") for name in names}
    for name, whole in {**files, "settings": settings_schema()}.items():
        for where, schema in numbers(whole, name):
            if not free & set(where.split(".")):
                assert {"minimum", "exclusiveMinimum"} & set(schema), where
                assert {"maximum", "exclusiveMaximum"} & set(schema), where


def test_a_file_that_is_not_yaml_is_named(tmp_path):
    path = tmp_path / "broken.yaml"
    for content in (b"a: [\n", b"\xff\xfe\x00", b"when: 2020-99-99\n", b"a: &a [*b]\n"):
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match=r"broken\.yaml is not YAML: ") as caught:
            read_yaml(path)
        assert "\n" not in str(caught.value)


def test_what_json_does_not_know_is_refused(tmp_path):
    schema = tmp_path / "any.schema.yaml"
    schema.write_text("type: object\n")
    path = tmp_path / "file.yaml"
    for text, message in (
        ("a: {b: 2020-01-01}", "a.b: 2020-01-01 is read as a date: put it in quotes"),
        ("a: !!set {b}", "a: holds a set, which no setting is"),
        ("a: &a [*a]", "nested too deeply"),
        ("[1]", "the file: must be a mapping of keys to values, not a list of 1"),
        ("", "the file: must be a mapping of keys to values, not null"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=message):
            check(read_yaml(path), schema)


def test_values_are_shown_briefly():
    assert shown("x" * 1000) == "'" + "x" * 58 + "…"
    assert shown(10**5000) == "a very long number"
    assert [shown(v) for v in (None, True, False, {}, [1])] == [
        *("null", "true", "false", "a mapping", "a list of 1")
    ]
