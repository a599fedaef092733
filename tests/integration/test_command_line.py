"""The command line from file to files, with the real estimator at small settings."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nddv.cli import main
from nddv.dynamics.readouts import READOUTS
from nddv.estimator.nddv import NDDV
from nddv.support.wording import InputWarning

SMALL = ["--epochs", "2"]


def make_table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two classes that two numbers and a category tell apart, most of the time."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "x1": rng.normal(size=n) + 2 * y,
            "x2": rng.normal(size=n),
            "city": np.where(rng.random(n) < 0.3, "Oslo", np.where(y == 1, "Rome", "Bern")),
            "since": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
            "y": np.where(y == 1, "yes", "no"),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with data.csv in it."""
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("data.csv", index=False)
    return tmp_path


def run(*words: str) -> int:
    return main(["value", *words, *SMALL])


def fails(capsys, *words: str) -> str:
    """Run what must fail: status 2, one line on stderr, nothing on stdout. Give the line."""
    before = set(Path().iterdir())
    try:
        status = run(*words)
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if not line.startswith("nddv: note: ")]
    assert status == 2
    assert out == ""
    assert len(lines) == 1, err
    assert lines[0].startswith("nddv: error: ")
    assert set(Path().iterdir()) == before
    return lines[0]


def test_values_record_and_page(folder, capsys):
    assert run("data.csv", "--target", "y", "--id", "key", "--report", "page.html") == 0
    result = pd.read_csv("data.values.csv")
    assert list(result.columns[:3]) == ["row", "key", "value"]
    assert result["row"].tolist() == list(range(1, 61))
    assert result["key"].tolist() == make_table()["key"].tolist()
    assert abs(result["value"].sum()) < 1e-6 * result["value"].abs().sum()
    assert sorted(result["rank"]) == list(range(1, 61))
    assert result.loc[result["rank"] == 1, "value"].item() == result["value"].max()
    assert (result["flag"] == (result["p_wrong"] > 0.5)).all()

    record = json.loads(Path("data.values.json").read_text())
    assert record["settings"]["epochs"] == 2
    assert record["settings"]["random_state"] == 0
    assert record["settings"]["readout"] == "path"
    assert record["settings"]["task"] == "classification"
    assert not {"params", "readout", "seed"} & set(record["estimator"])  # once is enough
    assert record["input"]["rows"] == 60
    assert record["command"].startswith("nddv value data.csv --target y")
    assert [c["as"] for c in record["columns"]] == ["number", "number", "category", "date"]

    page = Path("page.html").read_text()
    assert "Rome" in page
    assert "epochs" in page
    assert "not installed" not in page
    assert "train loss" in page
    assert "meta loss" not in page
    assert "run 2 of 2" not in page
    out, err = capsys.readouterr()
    assert "60 rows valued" in out
    assert "\r" not in err  # no progress bar where nobody is watching
    assert "meta data" not in err
    assert record["settings"]["configuration"] == "default"
    assert record["settings"]["members"] == record["estimator"]["members"] > 1
    assert sorted(p.name for p in folder.iterdir()) == [
        "data.csv",
        "data.values.csv",
        "data.values.json",
        "page.html",
    ]


def test_same_seed_same_bytes_and_another_seed_another_result(folder):
    arguments = ("data.csv", "--target", "y", "--drop", "key")
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        assert run(*arguments, "--seed", seed, "--out", f"{name}.csv") == 0
    a, b, c = (Path(f"{name}.csv").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_csv_gzip_and_parquet_give_the_same_values(folder):
    frame = make_table()
    frame.to_csv("zipped.csv.gz", index=False)
    frame.assign(since=pd.to_datetime(frame["since"])).to_parquet("typed.parquet")
    results = []
    for name in ("data.csv", "zipped.csv.gz", "typed.parquet"):
        assert run(name, "--target", "y", "--drop", "key", "--out", f"{name}.out.csv") == 0
        results.append(pd.read_csv(f"{name}.out.csv")["value"].to_numpy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


OF_CLASSES = [name for name, r in READOUTS.items() if "classification" in r.tasks]


@pytest.mark.parametrize("readout", OF_CLASSES)
def test_readouts_with_meta_and_validation_tables(folder, readout):
    make_table(40, seed=1).to_csv("meta.csv", index=False)
    make_table(40, seed=2).to_parquet("valid.parquet")
    side = ("--meta", "meta.csv", "--valid", "valid.parquet", "--readout", readout)
    assert run("data.csv", "--target", "y", "--drop", "key", *side, "--report", "p.html") == 0
    assert np.isfinite(pd.read_csv("data.values.csv")["value"]).all()
    page = Path("p.html").read_text()
    assert ("steered by the meta table meta.csv" in page) == ("meta" in READOUTS[readout].needs)
    assert "meta loss" in page
    record = json.loads(Path("data.values.json").read_text())
    assert record["settings"]["readout"] == readout


def test_missing_meta_data_are_told_of_where_rows_are_held_out(folder, capsys):
    words = ("data.csv", "--target", "y", "--drop", "key", "--force", "--report", "p.html")
    for readout in OF_CLASSES:
        assert run(*words, "--readout", readout) == 0
        held_out = "meta" in READOUTS[readout].needs
        assert ("no meta data: 20% of the rows are held out" in capsys.readouterr().err) == held_out
        page = Path("p.html").read_text()
        assert ("No meta table was given: there were two runs" in page) == held_out
        assert ("run 2 of 2" in page) == held_out


def test_a_curve_says_how_many_rows_to_drop(folder, capsys):
    make_table(30, seed=1).to_csv("meta.csv", index=False)
    words = ("data.csv", "--target", "y", "--id", "key", "--readout", "participation", "--curve")
    assert run(*words, "--meta", "meta.csv", "--report", "page.html") == 0
    curve = json.loads(Path("data.values.json").read_text())["curve"]
    assert len(curve["predicted"]) == 61
    assert len(curve["checked"]) == len(curve["measured"]) > 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "How many rows to drop" in page
    said = capsys.readouterr().out
    assert "dropped rows" in said or "rows of lowest value" in said


@pytest.mark.parametrize("words", [["--readout", "participation"], ["--meta", "data.csv"]])
def test_a_curve_needs_one_run_and_its_utility(folder, capsys, words):
    line = fails(capsys, "data.csv", "--target", "y", "--curve", *words)
    assert "give --readout participation and --meta FILE" in line


def test_a_readout_of_another_task_is_refused(folder, capsys):
    line = fails(capsys, "data.csv", "--target", "y", "--drop", "key", "--readout", "residual")
    assert "the readout residual is for regression, but" in line
    assert "(--readout" in line


@pytest.mark.parametrize("task", ["auto", "regression"])
@pytest.mark.parametrize("readout", [None, *READOUTS])
def test_regression(folder, capsys, task, readout):
    frame = make_table().assign(y=lambda t: t["x1"] + 0.1 * t["x2"])
    frame.to_csv("numbers.csv", index=False)
    words = ["--target", "y", "--drop", "key", "--task", task, "--report", "p.html"]
    words += ["--readout", readout] if readout else []
    assert run("numbers.csv", *words) == 0
    assert len(pd.read_csv("numbers.values.csv")) == 60
    record = json.loads(Path("numbers.values.json").read_text())
    assert record["settings"]["readout"] == (readout or "residual")
    assert record["settings"]["task"] == "regression"
    page, notices = Path("p.html").read_text(), capsys.readouterr().err
    for text in (page, notices, *record["notices"][:1]):
        assert ("does not mean a bad row" in " ".join(text.split())) == (
            readout is not None and "regression" not in READOUTS[readout].low_is_bad
        )


def test_warnings_of_the_library_become_notices(folder, capsys, monkeypatch):
    fit = NDDV.fit

    def warning_fit(*given, **named):
        for _ in range(2):
            warnings.warn(InputWarning("strange\ndata", X_meta=None), stacklevel=2)
        warnings.warn("for developers", DeprecationWarning, stacklevel=2)
        return fit(*given, **named)

    monkeypatch.setattr(NDDV, "fit", warning_fit)
    words = ("data.csv", "--target", "y", "--drop", "key")
    assert run(*words) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines.count("nddv: note: strange data (--meta)") == 1
    assert all(line.startswith("nddv: note: ") for line in lines)
    assert not any("developers" in line for line in lines)
    notices = json.loads(Path("data.values.json").read_text())["notices"]
    assert "strange data (--meta)" in notices
    assert run(*words, "--force", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_existing_files_are_replaced_only_by_force(folder, capsys):
    Path("data.values.csv").write_text("precious")
    words = ("data.csv", "--target", "y", "--drop", "key")
    assert "data.values.csv exists" in fails(capsys, *words)
    assert Path("data.values.csv").read_text() == "precious"
    assert run(*words, "--force", "--quiet") == 0
    assert Path("data.values.csv").read_text() != "precious"
    assert capsys.readouterr() == ("", "")


def test_flag_budget(folder):
    words = ("data.csv", "--target", "y", "--drop", "key", "--force")
    for fraction, rows in (("0", 0), ("0.25", 15)):
        assert run(*words, "--flag", fraction) == 0
        assert pd.read_csv("data.values.csv")["flag"].sum() == rows


def test_imputation(folder):
    frame = make_table()
    frame.loc[3, "x1"] = np.nan
    frame.loc[4, "city"] = None
    frame.to_csv("gaps.csv", index=False)
    assert run("gaps.csv", "--target", "y", "--drop", "key", "--missing", "impute") == 0


BAD_TABLES = {
    "missing entry": (
        lambda t: t.assign(x1=t["x1"].where(t.index != 7)),
        "row 8 (line 9 of bad.csv)",
    ),
    "missing target": (
        lambda t: t.assign(y=t["y"].where(t.index != 7)),
        "target 'y' is missing at row 8",
    ),
    "infinite entry": (
        lambda t: t.assign(x1=t["x1"].where(t.index != 7, np.inf)),
        "infinite at row 8",
    ),
    "one class": (lambda t: t.assign(y="yes"), "class"),
    "classes or numbers": (
        lambda t: t.assign(y=np.arange(len(t)) ** 2),
        'set task to "regression" or "classification" (--task)',
    ),
    "no target": (lambda t: t.rename(columns={"y": "label"}), "no column 'y'"),
    "no features": (lambda t: t[["key", "y"]], "nothing is left"),
    "too few rows": (lambda t: t.head(5), ""),
    "no rows": (lambda t: t.head(0), "has a header but no rows"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(folder, capsys, name):
    change, message = BAD_TABLES[name]
    change(make_table()).to_csv("bad.csv", index=False)
    assert message in fails(capsys, "bad.csv", "--target", "y", "--drop", "key")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "is empty"),
        ("twice.csv", b"a,a,y\n1,2,3\n", "more than one column named 'a'"),
        ("latin.csv", "a,y\né,1\n".encode("latin-1"), "not utf-8"),
        ("bad.parquet", b"not parquet", "cannot be read as Parquet"),
        ("table.xlsx", b"PK", "neither .csv"),
    ],
)
def test_bad_files(folder, capsys, name, content, message):
    Path(name).write_bytes(content)
    assert message in fails(capsys, name, "--target", "y")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["data.csv"], "--target"),
        (["data.csv", "--target", "y"], "like an identifier"),
        (["data.csv", "--target", "y", "--drop", "y"], "is the target"),
        (["data.csv", "--target", "y", "--flag", "10"], "not in [0, 1)"),
        (["data.csv", "--target", "y", "--flag", "nan"], "not in [0, 1)"),
        (["data.csv", "--target", "y", "--seed", "-1"], "less than 0"),
        (
            ["data.csv", "--target", "y", "--readout", "worth"],
            "unknown readout 'worth'; known: terminal, p",
        ),
        (
            ["data.csv", "--target", "y", "--readout", "pth"],
            "unknown readout 'pth'; did you mean 'path'?",
        ),
        (["data.csv", "--targt", "y"], "unknown option --targt; did you mean '--target'?"),
        (["data.csv", "--target=y", "--tsak=auto"], "unknown option --tsak; did you mean '--task'"),
        (["data.csv", "--target", "y", "--separator", ";;"], "one character"),
        (["data.csv", "--target", "y", "--out", "values.txt"], "must end in .csv"),
        (["data.csv", "--target", "y", "--out", "data.csv", "--force"], "is an input"),
        (["data.csv", "--target", "y", "--out", "none/values.csv"], "none does not exist"),
        (["data.csv", "--target", "y", "--out", "v.csv", "--report", "v.csv"], "same file"),
        (
            ["data.csv", "--target", "y", "--drop", "key", "--meta", "no.csv"],
            "no.csv does not exist",
        ),
    ],
)
def test_bad_arguments(folder, capsys, words, message):
    assert message in fails(capsys, *words)


def test_interrupt_writes_nothing(folder, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("nddv.cli.value._fit", interrupt)
    assert run("data.csv", "--target", "y", "--drop", "key") == 130
    assert "interrupted" in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == ["data.csv"]


def test_a_run_that_diverges_is_one_line(folder, capsys, monkeypatch):
    def diverge(*_, **__):
        raise FloatingPointError("training diverged in epoch 1")

    monkeypatch.setattr("nddv.cli.value._fit", diverge)
    assert "training diverged" in fails(capsys, "data.csv", "--target", "y", "--drop", "key")


def test_traceback_on_request(folder):
    with pytest.raises(ValueError, match="does not exist"):
        run("nothing.csv", "--target", "y", "--traceback")


def command(*words: str, **options) -> subprocess.CompletedProcess:
    source = Path(__file__).resolve().parents[2] / "src"
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        **options,
    )


def test_help_and_version_as_a_process():
    for words in (["--help"], ["value", "--help"]):
        done = command("-m", "nddv.cli", *words)
        assert done.returncode == 0
        assert "nddv value data.csv --target label" in done.stdout
    assert command("-m", "nddv.cli", "--version").stdout.startswith("nddv ")
    assert command("-m", "nddv.cli").returncode == 2


def test_bad_input_as_a_process(folder):
    done = command("-m", "nddv.cli", "value", "nothing.csv", "--target", "y", cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "nddv: error: nothing.csv does not exist\n"


def test_torch_is_not_imported_for_help_or_bad_tables(folder):
    code = (
        "import sys; from nddv.cli import main; main(['value', 'nothing.csv', '--target', 'y']);"
        "sys.exit('torch' in sys.modules)"
    )
    assert command("-c", code, cwd=folder).returncode == 0
