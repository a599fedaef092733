"""``nddv value``: from a table in a file to a file of values."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.cli.arguments import AUTO, BUDGET, build_parser, explain, version
from nddv.cli.inputs import Inputs, read_inputs, streams
from nddv.cli.outputs import check_outputs, csv_output, write_outputs
from nddv.cli.readouts import caution
from nddv.cli.runs import check_folder, save
from nddv.dynamics.readouts import default_readout, get_readout
from nddv.estimator.validation import check_task
from nddv.support.files import as_json
from nddv.tabular.files import FileTable, TableError

# what the estimator's record repeats of the settings, the input and the time
REPEATED = {"params", "readout", "configuration", "task", "seed", "n", "d", "seconds"}

# columns of a report that a result has already, or has elsewhere
UNCHECKED = {"row", "label", "value", "rank", "flag"}


def run(arguments: argparse.Namespace) -> None:
    """Value the rows of a table and write the result."""
    _check_options(arguments)
    outputs = plan_outputs(arguments)
    with ExitStack() as stack:
        scratch = None
        if streams(arguments):
            made = tempfile.TemporaryDirectory(prefix=".nddv.", dir=outputs["values"].parent)
            scratch = Path(stack.enter_context(made))
        _run(arguments, outputs, read_inputs(arguments, scratch))


def _run(arguments: argparse.Namespace, outputs: Mapping[str, Path], inputs: Inputs) -> None:
    table = inputs.table
    task = check_task(arguments.task, inputs.y)
    readout = arguments.readout or default_readout(task).name
    notices = [*map(explain, inputs.notices), *caution(task, get_readout(readout))]
    by_probability = _by_probability(arguments, task, readout)
    if arguments.flag == AUTO and not by_probability:
        notices.append(
            f"the flag marks the lowest {BUDGET:.0%} of the values: whether a row is wrong is told "
            "of classes, with the default readout"
        )
    for notice in notices:
        _say(arguments, notice)

    start = time.perf_counter()
    estimator, report, warned = _fit(arguments, task, readout, inputs, by_probability)
    seconds = time.perf_counter() - start
    values = np.asarray(estimator.values_, dtype=np.float64)
    fraction = BUDGET if arguments.flag == AUTO else arguments.flag
    checked = None if report is None else report.rows
    result = tabulate(table, values, estimator.stderr_, fraction, inputs.identifiers, checked)
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
        "flag": {"fraction": None if report else fraction, "rows": int(result["flag"].sum())},
        "seconds": round(seconds, 3),
        "settings": _plain(estimator.record_["params"]),  # with what "auto" stood for
        "estimator": _plain({k: v for k, v in estimator.record_.items() if k not in REPEATED}),
    }
    if report is not None:
        found = {name: getattr(report, name).to_dict("records") for name in ("classes", "groups")}
        record["check"] = _plain({**report.record, **found, "answer": report.sentences()})
    if arguments.curve:
        curve = estimator.drop_curve()
        record["curve"] = {**_plain(asdict(curve)), "best": curve.best}
    texts = {"values": result.to_csv(index=False, lineterminator="\n"), "record": as_json(record)}
    if "page" in outputs:
        from nddv.cli.page import render_page  # loads matplotlib

        shown = {"media": inputs.media, "X": inputs.X, "encoding": inputs.encoding}
        texts["page"] = render_page(table, result, record, estimator.history_, report, **shown)
    if report is not None and arguments.save is not None:
        save(arguments, inputs, report)
    write_outputs(outputs, texts)
    if not arguments.quiet:
        flagged = record["flag"]["rows"]
        print(f"{len(result)} rows valued in {seconds:.1f} s, {flagged} flagged.")
        for sentence in record.get("check", {}).get("answer", []):
            print(sentence)
        if arguments.curve:
            print(_curve_in_words(record["curve"]))
        saved = {} if arguments.save is None else {"run": arguments.save}
        for name, file in {**outputs, **saved}.items():
            print(f"{name:7}{file}")


def _by_probability(arguments: argparse.Namespace, task: str, readout: str) -> bool:
    """Whether rows are flagged by the probability that they are wrong; refuses what needs it."""
    told = task == "classification" and readout == default_readout(task).name
    if arguments.flag == AUTO and told:
        return True
    if arguments.save is not None:
        raise TableError(
            "--save keeps a run that tells wrong labels: it needs classes, the default readout and "
            "--flag auto"
        )
    return False


def _check_options(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, what could not be done in the end."""
    _check_curve(arguments)
    if arguments.save is not None:
        check_folder(arguments.save, arguments.force)


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
    values = csv_output(arguments.out, arguments.data, "values")
    outputs = {"values": values, "record": values.with_suffix(".json")}
    if arguments.report is not None:
        outputs["page"] = arguments.report
    inputs = (arguments.data, arguments.meta, arguments.valid)
    check_outputs(outputs, inputs, arguments.force)
    return outputs


def tabulate(
    table: FileTable,
    values: NDArray[np.float64],
    stderr: NDArray[np.float64] | None,
    fraction: float,
    identifiers: list[str],
    checked: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The result: row, identifiers, value, (standard error,) rank, what was checked, and flag.

    Equal values rank in the order of their rows. Without `checked` (`Report.rows`) the lowest
    fraction is flagged.
    """
    n = len(values)
    rank = pd.Series(values).rank(ascending=False, method="first").astype(np.int64)
    own = {"value": values}
    if stderr is not None:
        own["stderr"] = np.asarray(stderr, dtype=np.float64)
    own["rank"] = rank.to_numpy()
    if checked is not None:
        own |= {name: checked[name].to_numpy() for name in checked if name not in UNCHECKED}
        own["flag"] = checked["flag"].to_numpy()
    else:
        own["flag"] = (own["rank"] > n - round(fraction * n)).astype(np.int64)
    result = pd.DataFrame({"row": table.frame.index.to_numpy(dtype=np.int64) + 1})
    for name in identifiers:
        taken = name == "row" or name in own
        result[f"id_{name}" if taken else name] = table.frame[name].to_numpy()
    return result.assign(**own)


def _fit(
    arguments: argparse.Namespace, task: str, readout: str, inputs: Inputs, check_rows: bool
) -> tuple[Any, Any, list[str]]:
    """Fit the estimator, and check the rows; give both and what they warned of."""
    from nddv.checks.report import check
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
    report = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for developers in (DeprecationWarning, PendingDeprecationWarning, ImportWarning):
            warnings.simplefilter("ignore", developers)
        estimator.fit(inputs.X, inputs.y, **inputs.side)
        if check_rows:
            trusted = {k: v for k, v in inputs.side.items() if k.endswith("_meta")}
            groups = {inputs.target: inputs.y}
            groups |= {name: inputs.table.frame[name].to_numpy() for name in arguments.group}
            frame = pd.DataFrame(groups)
            report = check(inputs.X, inputs.y, **trusted, groups=frame, model=estimator)
            rows = inputs.table.frame.index.to_numpy(dtype=np.int64) + 1
            report = replace(report, rows=report.rows.assign(row=rows))
    sentences = list(dict.fromkeys(explain(warning.message) for warning in caught))
    for message in sentences:
        _say(arguments, message)
    return estimator, report, sentences


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
