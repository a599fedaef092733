"""``nddv value``: from a table in a file to a file of values."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.cli.arguments import build_parser, explain, version
from nddv.cli.inputs import Inputs, read_inputs
from nddv.cli.readouts import caution
from nddv.dynamics.readouts import default_readout, get_readout
from nddv.estimator.validation import check_task
from nddv.support.files import as_json, atomic_write
from nddv.tabular.files import FileTable, TableError

# what the estimator's record repeats of the settings, the input and the time
REPEATED = {"params", "readout", "configuration", "task", "seed", "n", "d", "seconds"}

# what is left out of the name of a table, but for a name that is nothing else
KNOWN_SUFFIXES = r"(?i)(?<=.)(\.(csv|tsv|parquet|pq|gz|bz2|xz|zip|brotli))+\Z"


def run(arguments: argparse.Namespace) -> None:
    """Value the rows of a table and write the result."""
    _check_curve(arguments)
    outputs = plan_outputs(arguments)
    inputs = read_inputs(arguments)
    table = inputs.table
    task = check_task(arguments.task, inputs.y)
    readout = arguments.readout or default_readout(task).name
    notices = [*map(explain, inputs.notices), *caution(task, get_readout(readout))]
    for notice in notices:
        _say(arguments, notice)

    estimator, seconds, warned = _fit(arguments, task, readout, inputs)
    values = np.asarray(estimator.values_, dtype=np.float64)
    result = tabulate(table, values, estimator.stderr_, arguments.flag, inputs.identifiers)
    record = {
        "nddv": version(),
        "command": _command(arguments),
        "input": {
            "file": arguments.data.name,
            "sha256": inputs.sha256,
            "rows": len(result),
            "target": inputs.target,
            "id": inputs.identifiers,
            "meta": arguments.meta.name if arguments.meta else None,
            "valid": arguments.valid.name if arguments.valid else None,
        },
        "columns": inputs.columns,
        "features": int(inputs.X.shape[1]),
        "excluded": inputs.excluded.to_dict("records"),
        "notices": [*notices, *warned],
        "flag": {"fraction": arguments.flag, "rows": int(result["flag"].sum())},
        "seconds": round(seconds, 3),
        "settings": _plain(estimator.record_["params"]),  # with what "auto" stood for
        "estimator": _plain({k: v for k, v in estimator.record_.items() if k not in REPEATED}),
    }
    if arguments.curve:
        curve = estimator.drop_curve()
        record["curve"] = {**_plain(asdict(curve)), "best": curve.best}
    texts = {"values": result.to_csv(index=False, lineterminator="\n"), "record": as_json(record)}
    if "page" in outputs:
        from nddv.cli.page import render_page  # loads matplotlib

        texts["page"] = render_page(table, result, record, estimator.history_)
    with ExitStack() as files:  # all of them or none
        for name, text in texts.items():
            temporary = files.enter_context(atomic_write(outputs[name]))
            temporary.write_text(text, encoding="utf-8", newline="")
    if not arguments.quiet:
        flagged = record["flag"]["rows"]
        print(f"{len(result)} rows valued in {seconds:.1f} s, {flagged} flagged (lowest values).")
        if arguments.curve:
            print(_curve_in_words(record["curve"]))
        for name, file in outputs.items():
            print(f"{name:7}{file}")


def _check_curve(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, a curve of values that are in no unit."""
    one_run = arguments.readout == "participation" and arguments.meta is not None
    if arguments.curve and not one_run:
        raise TableError(
            "--curve is about one run and its utility: give --readout participation and --meta FILE"
        )


def _curve_in_words(curve: Mapping[str, Any]) -> str:
    """What the curve says of dropping rows."""
    predicted, best = curve["predicted"], curve["best"]
    if best == 0:
        return "No number of dropped rows is predicted to raise the utility."
    gain = predicted[best] - predicted[0]
    seen = dict(zip(curve["checked"], curve["measured"], strict=True))
    actual = seen[best] - predicted[0]
    return (
        f"Without the {best} rows of lowest value the utility would rise by {gain:.3g} "
        f"(predicted); trained again without them, it changes by {actual:+.3g}."
    )


def plan_outputs(arguments: argparse.Namespace) -> dict[str, Path]:
    """The files to write; refuses before any work what could not be written in the end."""
    data = arguments.data.resolve() if arguments.data.is_dir() else arguments.data
    stem = re.sub(KNOWN_SUFFIXES, "", data.name)
    values = arguments.out or Path(f"{stem}.values.csv")
    if values.suffix.lower() != ".csv":
        raise TableError(
            f"--out {values}: the values are written as CSV, so the name must end in .csv"
        )
    outputs = {"values": values, "record": values.with_suffix(".json")}
    if arguments.report is not None:
        outputs["page"] = arguments.report
    inputs = {p.resolve() for p in (arguments.data, arguments.meta, arguments.valid) if p}
    if len({file.resolve() for file in outputs.values()}) < len(outputs):
        raise TableError("--out and --report name the same file")
    for file in outputs.values():
        if file.resolve() in inputs:
            raise TableError(f"{file} is an input; write the result to another file")
        if file.is_dir():
            raise TableError(f"{file} is a folder; name a file")
        if not file.parent.is_dir():
            raise TableError(f"the folder {file.parent} does not exist; make it first")
        if not os.access(file.parent, os.W_OK):
            raise TableError(
                f"{file} could not be written: make the folder {file.parent} writable, "
                "or name a file elsewhere"
            )
        if file.exists() and not arguments.force:
            raise TableError(f"{file} exists; give another name, or --force to replace it")
    return outputs


def tabulate(
    table: FileTable,
    values: NDArray[np.float64],
    stderr: NDArray[np.float64] | None,
    fraction: float,
    identifiers: list[str],
) -> pd.DataFrame:
    """The result: row, identifiers, value, (standard error,) rank and flag.

    Equal values rank in the order of their rows.
    """
    n = len(values)
    rank = pd.Series(values).rank(ascending=False, method="first").astype(np.int64)
    result = pd.DataFrame({"row": table.frame.index.to_numpy(dtype=np.int64) + 1})
    for name in identifiers:
        taken = name in {"row", "value", "stderr", "rank", "flag"}
        result[f"id_{name}" if taken else name] = table.frame[name].to_numpy()
    result["value"] = values
    if stderr is not None:
        result["stderr"] = np.asarray(stderr, dtype=np.float64)
    result["rank"] = rank
    result["flag"] = (rank > n - round(fraction * n)).astype(np.int64)
    return result


def _fit(
    arguments: argparse.Namespace,
    task: str,
    readout: str,
    inputs: Inputs,
) -> tuple[Any, float, list[str]]:
    """Fit the estimator; give it, the seconds it took and what it warned of."""
    from nddv.estimator.nddv import NDDV  # torch: two seconds that a bad table need not cost

    options = {"utility": arguments.utility}
    options |= {} if arguments.epochs is None else {"epochs": arguments.epochs}
    estimator = NDDV(
        readout=readout,
        task=task,
        random_state=arguments.seed,
        device=arguments.device,
        progress=sys.stderr.isatty() and not arguments.quiet,
        **options,
    )
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for developers in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", developers)
        estimator.fit(inputs.X, inputs.y, **inputs.side)
    sentences = list(dict.fromkeys(explain(warning.message) for warning in caught))
    for message in sentences:
        _say(arguments, message)
    return estimator, time.perf_counter() - start, sentences


def _say(arguments: argparse.Namespace, notice: str) -> None:
    if not arguments.quiet:
        print(f"nddv: note: {notice}", file=sys.stderr)


def _command(arguments: argparse.Namespace) -> str:
    """The command that makes this result again; options at their defaults are left out."""
    words = ["nddv", "value", str(arguments.data)]
    words += [] if arguments.target is None else ["--target", arguments.target]
    defaults = build_parser().parse_args(["value", "_"])
    for name, value in sorted(vars(arguments).items()):
        unnamed = name in {"command", "data", "target", "force", "quiet", "traceback"}
        if unnamed or value == getattr(defaults, name):
            continue
        for item in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", str(item)]
    return shlex.join(words)


def _plain(content: Any) -> Any:
    """Numpy numbers and arrays, tuples and paths as JSON knows them."""
    if isinstance(content, dict):
        return {str(k): _plain(v) for k, v in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(v) for v in content]
    if isinstance(content, np.ndarray | np.generic):
        return _plain(content.tolist())
    return content if isinstance(content, bool | int | float | str | None) else str(content)
