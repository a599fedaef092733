"""Mutants: one operator or number of the sources is changed at a time, and the tests should notice.

    python benchmarks/mutants.py [--only dynamics replay ...] [--most 60] [--seed 0] [--workers 2]

Arithmetic, comparisons, signs and numbers are changed, one in each mutant; a number becomes greater
by one. First the tests run once, to see which functions each of them reaches. Then those that reach
the changed function run with the mutant in its place, the quickest first, until one fails, or until
a minute of them has passed. A mutant that no test fails with has survived: a test is missing, or
the change means nothing. The record, reports/mutants.csv, names the test that noticed each mutant;
reports/mutants.md counts them and lists the survivors, each with what was found when it was looked
at (benchmarks/survivors.csv). Both are written after each mutant: a run that was stopped goes on.
What was judged with the same module and the same tests is not judged again; with other tests, the
one that noticed it is tried first. Mutants of the record stay drawn as long as the sources have
their lines; what they gave at first, before anyone wrote a test for them, stays in the record too.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import importlib.abc
import importlib.util
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pandas as pd
import pytest
from tqdm import tqdm

from nddv.support.files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
SOURCES, TESTS = ROOT / "src" / "nddv", ROOT / "tests" / "unit"
RECORD = ROOT / "reports" / "mutants.csv"
LOOKED_AT = ROOT / "benchmarks" / "survivors.csv"  # module, text, after, why
SEEN = ROOT / ".cache" / "mutants"  # what tests reach, as long as the sources are the same
PACKAGES = ("dynamics", "replay", "coalitions", "audit", "checks")
TARGET = 0.9
LARGE = ("hypothesis", "scipy.stats", "sklearn.linear_model", "torch")
ENOUGH = 60.0  # seconds of tests that a mutant is judged by
LONGER, MORE = 5, 30  # so many times as long, and seconds more, of the processor: it hangs
PATIENCE = 20  # times as many by the clock, for one that sleeps; a busy machine must not judge
TIME, IMPORT = "it hangs", "it cannot be imported"  # instead of a test
QUIET = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow")

OPERATORS: dict[type, str] = {
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"},
    **{ast.Pow: "*", ast.FloorDiv: "/", ast.Mod: "*"},
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
}


class Mutant(NamedTuple):
    """A place of a module, and what stands there instead."""

    module: str
    line: int
    start: int
    end: int
    before: str
    after: str
    text: str  # the line
    column: int  # where in it

    @property
    def identity(self) -> tuple[str, str, int, str]:
        """By which it is known again when other lines have changed."""
        return self.module, self.text, self.column, self.after


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    text = path.read_text(encoding="utf-8")
    rows = text.splitlines(keepends=True)
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    module = ".".join(("nddv", *path.relative_to(SOURCES).with_suffix("").parts))

    def place(line: int, column: int) -> int:
        """Columns of the syntax tree count bytes."""
        return starts[line - 1] + len(rows[line - 1].encode()[:column].decode())

    def mutant(start: int, end: int, other: str) -> Mutant:
        line = text.count("\n", 0, start) + 1
        row, column = rows[line - 1], start - starts[line - 1]
        indented = len(row) - len(row.lstrip())
        about = (text[start:end], other, row.strip(), column - indented)
        return Mutant(module, line, start, end, *about)

    def change(left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[Mutant]:
        """The operator between two expressions, which brackets may surround."""
        start = place(left.end_lineno or 0, left.end_col_offset or 0)
        between = text[start : place(right.lineno, right.col_offset)]
        sign = re.search(r"\*\*|//|[-+*/%]|[<>!=]=|[<>]", between)
        if sign and type(operator) in OPERATORS:
            yield mutant(start + sign.start(), start + sign.end(), OPERATORS[type(operator)])

    tree = ast.parse(text)
    notes = {id(sub) for node in ast.walk(tree) for sub in _annotations(node)}
    for node in ast.walk(tree):
        if id(node) in notes:
            continue
        if isinstance(node, ast.BinOp):
            yield from change(node.left, node.right, node.op)
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, operator, right in zip(sides, node.ops, node.comparators, strict=False):
                yield from change(left, right, operator)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            at = place(node.lineno, node.col_offset)
            yield mutant(at, at + 1, "+")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            start = place(node.lineno, node.col_offset)
            end = place(node.end_lineno or 0, node.end_col_offset or 0)
            yield mutant(start, end, repr(node.value + 1))


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in type hints, where nothing is computed."""
    for name in ("annotation", "returns"):
        hint = getattr(node, name, None)
        if hint is not None:
            yield from ast.walk(hint)


class Loader(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Import one module from other sources than its file."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = mutant.module
        self.path = SOURCES.parent / Path(*mutant.module.split(".")).with_suffix(".py")
        text = self.path.read_text(encoding="utf-8")
        self.text = text[: mutant.start] + mutant.after + text[mutant.end :]

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, str(self.path), "exec")

    def get_filename(self, fullname: str) -> str:
        return str(self.path)


def drawn_from(
    every: Sequence[Mutant], known: Container[tuple[str, str, int, str]], most: int, seed: int
) -> list[Mutant]:
    """So many mutants, in order: those that are known, and others at random."""
    shuffled = random.Random(seed).sample(every, len(every))
    shuffled.sort(key=lambda mutant: mutant.identity not in known)
    return sorted(shuffled[:most])


def tests_of(packages: Sequence[str]) -> list[Path]:
    """Files of tests: those called after one of the packages, and those that import from one."""
    any_of = "|".join(packages)
    called = re.compile(rf"test_({any_of})")
    named = re.compile(rf"\bnddv\.({any_of})\b|from nddv import .*\b({any_of})\b")
    return [
        path
        for path in sorted(TESTS.glob("test_*.py"))
        if called.match(path.stem) or named.search(path.read_text(encoding="utf-8"))
    ]


class Reached(NamedTuple):
    """A test: how long it takes, and where the functions begin that it reaches."""

    test: str
    seconds: float
    functions: frozenset[tuple[str, int]]

    @property
    def file(self) -> Path:
        """Where it stands."""
        return ROOT / self.test.partition("::")[0]


class Watch:
    """A plugin of pytest: the functions that each test reaches, itself or by its fixtures."""

    def __init__(self) -> None:
        self.tests: list[Reached] = []
        self.failed: set[str] = set()  # without a mutant: they judge none
        self._fixtures: dict[str, set[CodeType]] = {}
        self._open: list[dict[int, CodeType]] = []

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and self._open:
            self._open[-1][id(frame.f_code)] = frame.f_code

    def _close(self) -> set[CodeType]:
        """The functions called since the last opening; they also count where that lies within."""
        seen = self._open.pop()
        if self._open:
            self._open[-1].update(seen)
        return set(seen.values())

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        self._open.append({})
        try:
            return (yield)
        finally:
            self._fixtures[fixturedef.argname] = self._close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        self._open.append({})
        start = time.process_time()
        sys.setprofile(self._note)
        threading.setprofile(self._note)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            shared = (self._fixtures.get(name, set()) for name in item.fixturenames)
            ours = frozenset(
                (code.co_filename, code.co_firstlineno)
                for code in self._close().union(*shared)
                if code.co_filename.startswith(str(SOURCES))
            )
            self.tests.append(Reached(item.nodeid, time.process_time() - start, ours))


def reach_of(path: Path) -> list[Reached]:
    """The tests of a file, each with what it reaches; in a process of its own, and kept."""
    kept = SEEN / f"{path.stem}-{_digest([path, *SOURCES.rglob('*.py')])}.json"
    if kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        return [Reached(name, took, frozenset(map(tuple, places))) for name, took, places in found]
    watch = Watch()
    _be_silent()
    pytest.main([*QUIET, str(path)], plugins=[watch])
    passed = [test for test in watch.tests if test.test not in watch.failed]
    found = [(test.test, test.seconds, sorted(test.functions)) for test in passed]
    with atomic_write(kept) as whole:
        Path(whole).write_text(json.dumps(found), encoding="utf-8")
    return passed


def _digest(paths: Sequence[Path]) -> str:
    """Of the contents of files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def judges_of(mutant: Mutant, tests: Sequence[Reached], first: str) -> list[Reached]:
    """The quickest tests that reach the changed function, a minute of them, after the first.

    Where none is known to, and of what stands outside functions: those that reach the module, or
    whose file imports it.
    """
    path = str(Loader(mutant).path)
    place = (path, _function_at(path, mutant.line))
    near = [test for test in tests if place in test.functions]
    near = near or [
        test
        for test in tests
        if path in {file for file, _ in test.functions} or _imports(test.file, mutant.module)
    ]
    near.sort(key=lambda test: (test.test != first, test.seconds))
    within = sum(total <= ENOUGH for total in accumulate(test.seconds for test in near))
    return near[: max(within, 1)]


@cache
def _imports(file: Path, module: str) -> bool:
    """Whether a file of tests names the module, or from its package the last part of its name."""
    package, _, name = module.rpartition(".")
    text = file.read_text(encoding="utf-8")
    return bool(re.search(rf"{module}\b|from {package} import .*\b{name}\b", text))


def _function_at(path: str, line: int) -> int:
    """Where the function around a line begins, as its code says: at its first decorator, or 0."""
    begins = [0]
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= node.end_lineno:
            begins.append(min(n.lineno for n in (node, *node.decorator_list)))
    return max(begins)


class Case(NamedTuple):
    """A mutant, and the tests that it is judged by."""

    mutant: Mutant
    tests: list[Reached]

    @property
    def key(self) -> str:
        """What decides whether it is noticed: the changed module, and the files of tests."""
        files = {test.file for test in self.tests}
        text = Loader(self.mutant).text + _digest(list(files))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def judge(cases: Mapping[str, Case], workers: int) -> Iterator[tuple[str, str]]:
    """The test that noticed each, TIME if it hung, or "" if it survived.

    Each has a process of its own.
    """
    waiting, running = list(cases.items()), dict[int, tuple[str, float, int]]()
    with tqdm(total=len(cases), unit=" mutants") as progress:
        while waiting or running:
            while waiting and len(running) < workers:
                key, case = waiting.pop(0)
                seconds = int(LONGER * sum(test.seconds for test in case.tests) + MORE)
                answer, answers = os.pipe()
                child = os.fork()
                if not child:
                    _run(case, seconds, answers)
                os.close(answers)
                running[child] = (key, time.monotonic() + PATIENCE * seconds, answer)
            time.sleep(0.05)
            for child, (key, deadline, answer) in list(running.items()):
                late = time.monotonic() > deadline
                if late:
                    os.kill(child, signal.SIGKILL)
                ended, status = os.waitpid(child, 0 if late else os.WNOHANG)
                if ended:
                    code = os.waitstatus_to_exitcode(status)
                    with open(answer, encoding="utf-8") as said:  # noqa: PTH123
                        test = said.read()
                    del running[child]
                    progress.update()
                    hung = late or code == -signal.SIGXCPU
                    yield key, TIME if hung else (test or IMPORT) if code else ""


class First:
    """A plugin of pytest: says which test failed first."""

    def __init__(self, answers: int) -> None:
        self.answers: int | None = answers

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.answers is not None:
            os.write(self.answers, report.nodeid.encode())
            self.answers = None


def _be_silent() -> None:
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)


def _run(case: Case, seconds: int, answers: int) -> None:
    """The child: its exit code is that of the tests; a mutant that no test reaches survives."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    _be_silent()
    for name in [name for name in sys.modules if name.partition(".")[0] == "nddv"]:
        del sys.modules[name]
    sys.meta_path.insert(0, Loader(case.mutant))
    code = 1
    try:
        names = (test.test for test in case.tests)
        code = int(pytest.main(["-x", *QUIET, *names], plugins=[First(answers)]))
    finally:
        os._exit(code if case.tests else 0)


def report(record: pd.DataFrame) -> str:
    """The counts and the survivors, as Markdown."""
    lines = [
        "# Mutants",
        "",
        "Written by `make mutants`. One operator or number of the sources is changed at a time; a",
        "mutant is noticed if a unit test fails with it. Mutants are drawn at random. Tests were",
        "written for some that went unnoticed: the last column is the share before that, which is",
        "what to expect of mutants that nobody has looked at.",
        "",
        "| Package | Mutants | Drawn | Noticed | Share | Share when drawn |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for package, rows in record.groupby("package", sort=False):
        noticed, first = ((rows[column] != "").sum() for column in ("killed_by", "at_first"))
        counts = f"{package} | {rows['of'].iloc[0]} | {len(rows)} | {noticed}"
        lines.append(f"| {counts} | {noticed / len(rows):.2f} | {first / len(rows):.2f} |")
    lines += ["", f"The aim is {TARGET:.2f}. Survivors:", ""]
    lines += ["| Place | Before | After | Line | Why |", "| --- | --- | --- | --- | --- |"]
    looked = pd.read_csv(LOOKED_AT, dtype=str).set_index(["module", "text", "after"])["why"]
    for row in record[record["killed_by"] == ""].itertuples():
        why = looked.get((row.module, row.text, row.after), "not looked at")
        place = f"`{row.module}`, line {row.line}"
        code = row.text.replace("|", "\\|")
        lines.append(f"| {place} | `{row.before}` | `{row.after}` | `{code}` | {why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw mutants, run the tests with each, write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=PACKAGES, choices=PACKAGES)
    parser.add_argument("--most", type=int, default=60, help="mutants a package (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    for name in LARGE:  # children share what takes long to import
        importlib.import_module(name)
    os.chdir(ROOT)
    reached: list[Reached] = []
    files = tests_of(asked.only)
    with multiprocessing.get_context("fork").Pool(asked.workers, maxtasksperchild=1) as pool:
        for tests in tqdm(pool.imap_unordered(reach_of, files), total=len(files), unit=" files"):
            reached += tests
    earlier = _earlier()
    known = {(r.module, r.text, int(r.column), r.after): r for r in earlier.itertuples()}
    rows, cases = [], {}
    for package in asked.only:
        paths = sorted((SOURCES / package).rglob("*.py"))
        every = [mutant for path in paths for mutant in mutants_of(path)]
        for mutant in drawn_from(every, known, asked.most, asked.seed):
            before = known.get(mutant.identity)
            case = Case(mutant, judges_of(mutant, reached, before.killed_by if before else ""))
            cases[case.key] = case
            about = {"tests": len(case.tests), "key": case.key}
            about["at_first"] = before.at_first if before else None
            rows.append({"package": package, "of": len(every), **mutant._asdict(), **about})
    drawn = pd.DataFrame(rows)
    outcomes = dict(zip(earlier["key"], earlier["killed_by"], strict=True))
    left = drawn[~drawn["key"].isin(outcomes)]
    left = left.sample(frac=1, random_state=asked.seed)  # of all packages, wherever it is stopped
    for key, killed in judge({key: cases[key] for key in left["key"]}, asked.workers):
        outcomes[key] = killed
        _write(drawn, outcomes)
    _write(drawn, outcomes)
    print(RECORD.with_suffix(".md").read_text(encoding="utf-8"))


def _earlier() -> pd.DataFrame:
    """What was judged before."""
    if RECORD.exists():
        return pd.read_csv(RECORD, keep_default_na=False, dtype=str)
    return pd.DataFrame(columns=["key", "killed_by"])


def _write(drawn: pd.DataFrame, outcomes: Mapping[str, str]) -> None:
    """The mutants that were judged."""
    judged = drawn[drawn["key"].isin(list(outcomes))]
    record = judged.assign(killed_by=judged["key"].map(outcomes))
    record["at_first"] = record["at_first"].fillna(record["killed_by"])
    with atomic_write(RECORD) as path:
        record.to_csv(path, index=False)
    with atomic_write(RECORD.with_suffix(".md")) as path:
        Path(path).write_text(report(record), encoding="utf-8")


if __name__ == "__main__":
    main()
