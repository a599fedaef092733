"""Profiles: what they say is understood, and jobs that are short of memory get more."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CLUSTERS = ("slurm", "lsf")
FOLDER = "results/values/2dplanes/n60/label10"


def profile(name: str) -> dict:
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())


def rules() -> dict[str, str]:
    """The text of every rule; that of one made from another has that one's before its own."""
    parts = [path.read_text() for path in sorted((ROOT / "workflow" / "rules").glob("*.smk"))]
    text = "\n".join(parts)
    found = re.split(r"^(?:use )?rule (?:(\w+) as )?(\w+)\b", text, flags=re.MULTILINE)
    texts: dict[str, str] = {}
    for model, name, own in zip(found[1::3], found[2::3], found[3::3], strict=True):
        texts[name] = texts.get(model, "") + own
    return texts


def need(name: str) -> None:
    if find_spec(f"snakemake_executor_plugin_{name}") is None:
        pytest.skip(f"the executor of {name} is not installed: pip install -e '.[cluster]'")


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_profile_is_valid_and_groups_short_jobs(fresh, name):
    need(name)
    problem = {"dataset": "2dplanes", "n": 60}
    corruptions = ("label10", "label20")
    overlay = {"problems": [{**problem, "corruption": corruption} for corruption in corruptions]}
    text = fresh.snakemake(
        *("--workflow-profile", f"profiles/{name}", "--dry-run"), overlay=overlay
    ).stdout
    (nddv,) = re.findall(r"Group job nddv_2dplanes_n60\b.*\n((?:\n? {4}.*\n)*)", text)
    assert [corruption in nddv for corruption in corruptions] == [True, True]
    (baselines,) = re.findall(r"Group job baselines_2dplanes_n60\b.*\n((?:\n? {4}.*\n)*)", text)
    assert baselines.count("Job ") == 6


def test_a_setting_that_nobody_knows_is_noticed(fresh):
    need("slurm")
    path = fresh.folder / "profiles" / "slurm" / "config.yaml"
    path.write_text(path.read_text() + "slurm-status-comand: squeue\n")
    done = fresh.snakemake("--workflow-profile", "profiles/slurm", "--dry-run", check=False)
    assert done.returncode != 0
    assert "slurm-status-comand" in done.stdout


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_rules_that_a_profile_names_exist(name):
    said = profile(name)
    named = [one.split("=")[0] for one in said["groups"]]
    named += [one.split(":")[0] for one in said["set-resources"]]
    assert set(named) <= set(rules())
    groups = {one.partition("=")[2] for one in said["groups"]}
    assert {one.rpartition("=")[0] for one in said["group-components"]} == groups


def test_lsf_is_asked_for_a_gpu_wherever_a_rule_wants_one():
    wanted = {name for name, text in rules().items() if re.search(r"^        gpu=1,", text, re.M)}
    asked = {one.split(":")[0] for one in profile("lsf")["set-resources"] if "-gpu num=1" in one}
    assert asked == wanted >= {"value_nddv", "value_variant", "encode_dataset", "audit_retraining"}


def test_a_job_that_is_short_of_memory_is_run_again_with_more(fresh):
    """mem_mb limits nothing on a machine without a scheduler: here, the job limits itself to it."""
    script = fresh.folder / "workflow" / "scripts" / "value_baseline.py"
    limit = (
        "import resource\n"
        "bytes = snakemake.resources.mem_mb * 2**20\n"
        "resource.setrlimit(resource.RLIMIT_AS, (bytes, bytes))\n"
    )
    script.write_text(limit + script.read_text())
    fresh.append(
        "baselines/chance.py",
        "\n\ndef random_values(n):\n    return np.zeros(2500 * 2**17)[:n].copy()\n",
    )
    target = f"{FOLDER}/seed100/random.npz"
    done = fresh.snakemake(target, "--retries", "1")
    assert "MemoryError" in done.stdout
    assert done.stdout.count("Trying to restart job") == 1
    assert (fresh.folder / target).exists()
