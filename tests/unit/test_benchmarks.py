"""The benchmarks run, at small sizes, with the package as it is."""

from __future__ import annotations

import importlib
import re
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
RATE = r"\d+\.\d/s"


@pytest.fixture
def load(monkeypatch):
    """Load a script by its name, as a module that processes of its own can import as well."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def test_coalitions(load, capsys):
    bench = load("bench_coalitions")
    parts = bench.make_parts(60, 4, 2)
    bench.compare("small", parts, count=20, loop=5, repetitions=1)
    bench.compare_stored(parts, 20)
    said = capsys.readouterr().out
    for asked in ("halves", "all but one", "an order"):
        assert re.search(rf"{asked} +scikit-learn +{RATE} +float64 +{RATE}.*float32 +{RATE}", said)
    assert re.search(r"stored: none \d+/s, new \d+/s, known \d+/s", said)


@pytest.mark.parametrize("features", [10, 20])
def test_rules(load, capsys, features):
    bench = load("bench_rules")
    quick = ["nddv-terminal", "loo", "knn-shapley", "data-banzhaf"]
    spent = bench.time_rules(bench.make(features, n=60), quick)
    assert list(spent) == quick
    bench.print_sums(spent, features)
    said = capsys.readouterr().out
    assert ("(target <= 120 s), without data-shapley" in said) == (features == 10)


def test_rules_have_names(load):
    bench = load("bench_rules")
    known = set(bench.METHODS)
    assert known.issuperset([*bench.IN_THE_TABLE, *bench.SLOW])


def test_cost(load, capsys):
    bench = load("bench_cost")
    bench.compare_with_forests(1, {(60, 10): 2.5, (60, 30): 1.0}, trees=50, epochs=1)
    bench.compare_members(1, n=60, members=2, epochs=1)
    bench.compare_replay(1, n=60, epochs=1)
    said = capsys.readouterr().out
    assert len(re.findall(r"path / forest\(50, oob\) +\d+\.\d\d +\(target <= ", said)) == 2
    assert re.search(r"one more member / a fit of one +-?\d+\.\d\d +\(target < 0.35", said)
    assert re.search(r"participation / fit +\d+\.\d\d +\(target <= 3", said)


def test_large(load, capsys):
    bench = load("bench_large")
    bench.grow([300, 600], features=5, epochs=2, threads=1)
    said = capsys.readouterr().out
    for n in (300, 600):
        for where in ("on disk", "in memory"):
            assert re.search(rf"n= +{n} {where} +\d+\.\d s +peak +\d+ MB", said)
    assert re.search(r"exponent of the time in n, on disk: -?\d\.\d\d", said)


def test_together(load, capsys):
    bench = load("bench_together")
    bench.compare("small", 60, (4, 2), epochs=1, repetitions=1)
    said = capsys.readouterr().out
    assert re.search(r"five together / one \d+\.\d\d \(target < 2.5\), in turn / one \d+", said)


def test_what_benchmarks_print_becomes_a_report(load, tmp_path, monkeypatch, capsys):
    runner = load("run")
    (tmp_path / "bench_small.py").write_text("print('plain')\nprint('ours / theirs 2.0')")
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    report = tmp_path / "benchmarks.md"
    monkeypatch.setattr(sys, "argv", ["run.py", "--report", str(report)])
    runner.main()
    ratios, machine, whole = re.split("## Machine|## All that was printed", report.read_text())
    assert "- ours / theirs 2.0" in ratios
    assert "plain" not in ratios
    assert "cores" in machine
    assert "torch" in machine
    assert "plain\nours / theirs 2.0" in whole
    (tmp_path / "bench_small.py").write_text("raise SystemExit(3)")
    before = report.read_text()
    with pytest.raises(SystemExit, match="bench_small.py failed with code 3"):
        runner.main()
    assert report.read_text() == before


@pytest.mark.slow
def test_workflow(load, capsys, tmp_path):
    bench = load("bench_workflow")
    bench.start_up(1)
    tiny = {
        "parts": ["detection"],
        "problems": [{"dataset": "2dplanes", "n": 60, "corruption": "label10"}],
        "methods": ["random"],
    }
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(tiny))
    bench.workflow(tmp_path / "tiny.yaml")
    said = capsys.readouterr().out
    assert re.search(r"nddv --help +\d+\.\d\d s +\d+\.\d\d s CPU +\d+\.\d x", said)
    assert re.search(r"workflow of \d+ jobs\n  read", said)
    assert re.search(r"nothing to be done +\d+\.\d s .* s for 1000 jobs", said)


@pytest.mark.skipif(find_spec("opendataval") is None, reason="OpenDataVal is not installed")
def test_opendataval(load, capsys, monkeypatch):
    bench = load("bench_opendataval")
    monkeypatch.setattr(bench, "REPETITIONS", 1)
    bench.rules_that_retrain(models=30, n=30)
    bench.nearest_neighbours(60, 5, 20)
    said = capsys.readouterr().out
    ratios = np.array(re.findall(r"(\d+\.\d) x +\d+\.\d x", said), dtype=float)
    assert len(ratios) == 8
    assert (ratios > 0).all()


def test_semivalues(load, capsys):
    bench = load("bench_semivalues")
    bench.compare("2dplanes", 40, cap=0.3, others=0.2, python=sys.executable)
    said = capsys.readouterr().out
    assert re.search(r"reference of reliability 0\.\d{4}; seconds to r² = 0.99", said)
    assert re.search(r"levels, 8 nodes +\d+\.\d{3} s +r² \d\.\d{3}, no sampling", said)
    assert re.search(
        r"permutations / predicted marginals \d+\.\d x, permutations / levels \d+", said
    )
    if find_spec("pydvl") is None:
        assert "pyDVL: nothing to compare with: ModuleNotFoundError" in said
    if find_spec("opendataval") is not None:
        assert re.search(r"OpenDataVal / predicted marginals (\d+\.\d|nan) x", said)


def test_checks(load, capsys, tmp_path, monkeypatch):
    bench = load("judge_checks")
    monkeypatch.setattr(bench, "RESULTS", tmp_path)
    monkeypatch.setattr(bench, "NDDV", partial(bench.NDDV, members=1, epochs=2))
    monkeypatch.setattr(bench, "ERRORS", (bench.Errors(0.0), bench.Errors(0.2, by_class=True)))
    wanted = list(bench.cases(["2dplanes", "fire"], 100, [100]))
    assert [(case.dataset, case.errors.name) for case in wanted] == [
        *(("2dplanes", "0"), ("fire", "0")),
        ("2dplanes", "20c"),
    ]
    bench.gather_all(wanted)
    bench.gather_all(wanted)  # all are there
    assert capsys.readouterr().out.count("/3 ") == 3
    judged, said = bench.judge_all(wanted, sys.executable)
    if find_spec("cleanlab") is None:
        assert "nothing to compare with: ModuleNotFoundError" in said
        assert len(judged) == 3
    line = judged[(judged["way"] == "nddv") & (judged["errors"] == "20c")].iloc[0]
    assert line["injected"] == 20
    before = judged[(judged["way"] == "nddv") & (judged["dataset"] == "2dplanes")].iloc[0]
    assert line["added"] == pytest.approx(line["estimate"] - before["estimate"])
    assert 0 <= before["beyond"] <= before["flagged"]
    report = bench.write_report(judged, said, tmp_path)
    assert (tmp_path / "checks.md").read_text() == report
    assert "| 2dplanes | nddv | 1 |" in report
    assert "| fire | nddv |" in report.partition("## Clean tables")[2]


def test_errors_of_checks(load):
    bench = load("judge_checks")
    y = np.arange(3000) % 3
    rng = np.random.default_rng(100)
    even = bench.Errors(0.1).inject(y, 3, rng)
    assert (even != y).sum() == 300
    assert (np.bincount(y[even != y]) > 70).all()
    uneven = bench.Errors(0.1, by_class=True).inject(y, 3, rng)
    wrong = uneven != y
    assert wrong.sum() == 300
    assert (uneven[wrong] == (y[wrong] + 1) % 3).all()
    often = np.bincount(y[wrong])
    assert often[1] < 0.4 * min(often[0], often[2])


def test_judgements_of_checks(load):
    judged = load("checks_judged")
    p, wrong = np.array([0.05, 0.05, 0.95, 0.45]), np.array([False, True, True, False])
    # bins: (0.1 said, 1 is), (0.95, 1), (0.45, 0)
    assert judged.calibration_error(p, wrong) == pytest.approx((0.9 + 0.05 + 0.45) / 4)
    case = {"clean": np.array([0, 0, 1, 1]), "given": np.array([0, 1, 0, 1])}
    answer = judged.Answer(3.0, 2.0, 4.0, p, np.array([0, 1, 1, 1]) > 0, np.array([0, 0, 0, 1]))
    clean = judged.Answer(0.5, 0.0, 1.0, p, p > 1, p)
    found = judged.judge(answer, case, clean)
    assert (found["injected"], found["added"]) == (2, 2.5)
    assert (found["close"], found["close_alone"]) == (1.0, 0.0)  # within ½
    assert found["covers"] == 1.0
    assert found["precision"] == pytest.approx(2 / 3)
    assert (found["recall"], found["suggested_right"]) == (1.0, 0.5)
    assert found["covers_added"] == 1.0
    many = judged.judge(answer, case, judged.Answer(2.5, 2.0, 3.0, p, p > 1, p))
    assert (many["covers"], many["covers_added"]) == (0.0, 0.0)  # 0.5 ± 1.12, but there are 2
    X = np.zeros((4, 10))
    X[:, 0] = [1, 1, -1, -1]  # 3, 3, −3, −3: about 0
    rows, y = np.arange(4), np.array([1, 0, 0, 0])
    assert judged.doubtful("2dplanes", X, y, rows).tolist() == [False, True, False, False]


def test_opendataval_fails_where_there_is_none(load, monkeypatch):
    bench = load("bench_opendataval")
    monkeypatch.setitem(sys.modules, "nddv.integrations.opendataval", None)
    monkeypatch.setattr(sys, "argv", ["bench_opendataval.py"])
    with pytest.raises(SystemExit, match="nothing to compare with: .*opendataval"):
        bench.main()
