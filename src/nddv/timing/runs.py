"""Run time and peak memory of a method, alone in its own process, on synthetic data.

For fig:time_comparison, tab:wallclock_scaling and fig:runtime_comparison_new. The paper does not
say how its synthetic data are made; ours have standard normal features, and two classes by a
logistic model along one direction. Only :func:`nddv.methods.valuation.value_or_gap` is timed, not
imports nor the making of data.

The number of validation rows decides how the time of many methods grows, and the paper does not
state it. So there are two regimes. ``fixed`` has 100 rows at any n. ``tenth`` has n/10 rows, as in
the released code; there, methods that compare every training point with every validation point are
quadratic in n by construction. A method that reads no validation rows is timed once, as ``none``.
Meta and test parts always have 100 rows; the released code times NDDV without meta data.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nddv.methods.valuation import value_or_gap
from nddv.problems.problem import Problem
from nddv.support.jobs import THREAD_VARIABLES

if TYPE_CHECKING:
    from nddv.methods.registry import Method

DONE, TIMED_OUT, GAP = "done", "timed out", "gap"

REGIMES = ("fixed", "tenth", "none")
SIDE_ROWS = 100
WARM_UP = (40, 2)  # points and features of a run that is not timed
SIGNAL = 4.0  # length of the logistic model's direction: five labels in six can be predicted

LIBRARY = Path(__file__).parents[2]


def valid_rows(valid: str, n: int) -> int:
    """Number of validation rows in a regime, beside n training points."""
    if valid not in REGIMES:
        raise ValueError(f"valid must be one of {', '.join(REGIMES)}, got {valid!r}")
    return max(n // 10, 1) if valid == "tenth" else SIDE_ROWS


def synthetic_problem(n: int, features: int, valid: str, seed: int) -> Problem:
    """Standard normal features (n, d) and two classes, with clean side data.

    y = 1 where ⟨x, b⟩ plus logistic noise is positive. b is random. Its length does not depend on
    the number of features, so the labels are equally hard to predict for any number.
    """
    rng = np.random.default_rng([seed, n, features])
    direction = rng.standard_normal(features, dtype=np.float32)
    direction *= SIGNAL / np.linalg.norm(direction)
    rows = {"train": n, "valid": valid_rows(valid, n), "test": SIDE_ROWS, "meta": SIDE_ROWS}
    arrays: dict[str, NDArray[Any]] = {}
    for part, number in rows.items():
        X = rng.standard_normal((number, features), dtype=np.float32)
        arrays[f"X_{part}"] = X
        arrays[f"y_{part}"] = (X @ direction + rng.logistic(size=number) > 0).astype(np.int64)
    address = f"synthetic/n{n}/d{features}/{valid}/seed{seed}"
    record = {"address": address, "task": "classification", "classes": [0, 1], "valid": "clean"}
    return Problem(**arrays, record={**record, "sizes": rows})


def time_method(
    method: str,
    n: int,
    features: int,
    valid: str,
    seed: int,
    settings: Mapping[str, Any],
    timeout: float,
    threads: int = 1,
) -> dict[str, Any]:
    """Value one synthetic problem in a separate process, which the time-out ends.

    Parameters
    ----------
    method, settings : a name in ``METHODS``, or of OpenDataVal, and its settings.
    n, features, valid : of the training points; a regime of :data:`REGIMES`.
    seed : of the data and of the method.
    timeout : seconds that the valuation may take; making the data does not count.
    threads : number of threads for torch and for the linear algebra of numpy.

    Returns
    -------
    method, n, features, valid, valid_rows, seed, threads, timeout, status (``done``,
    ``timed out`` or ``gap``), seconds, peak_memory_mb (of the process, with its data and libraries;
    NaN if it is not known) and gap, the reason.
    """
    if not timeout > 0:
        raise ValueError(f"timeout must be positive, got {timeout}")
    row: dict[str, Any] = {"method": method, "n": n, "features": features, "valid": valid}
    row |= {"valid_rows": valid_rows(valid, n), "seed": seed, "threads": threads}
    row |= {"timeout": timeout, "status": GAP, "seconds": np.nan, "peak_memory_mb": np.nan}
    row["gap"] = _too_large(n, features, valid)
    if row["gap"]:
        return row
    request = {key: row[key] for key in ("method", "n", "features", "valid", "seed")}
    command = [sys.executable, "-m", "nddv.timing.runs"]
    return {**row, **run_alone(command, {**request, "settings": dict(settings)}, timeout, threads)}


def time_repeats(repeats: int, repeat_below: float, **arguments: Any) -> pd.DataFrame:
    """Rows of :func:`time_method`, each with its number as ``repeat``, from 0.

    There is only one if the first took longer than `repeat_below` seconds, or gave no time.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    rows = [{**time_method(**arguments), "repeat": 0}]
    if rows[0]["status"] == DONE and rows[0]["seconds"] <= repeat_below:
        rows += [{**time_method(**arguments), "repeat": i} for i in range(1, repeats)]
    return pd.DataFrame(rows)


def _too_large(n: int, features: int, valid: str) -> str:
    """Why the data cannot be made here; empty if they can."""
    needed = 4 * features * (n + valid_rows(valid, n) + 2 * SIDE_ROWS) / 2**30
    there_are = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if needed < there_are:
        return ""
    return f"the data alone take {needed:.0f} GB, and this machine has {there_are:.0f}"


def run_alone(
    command: Sequence[str], request: Mapping[str, Any], timeout: float, threads: int
) -> dict[str, Any]:
    """Run a command with a JSON request as its last argument, and return its answer.

    The command writes a line when it is ready; `timeout` counts from then. Its last line is the
    answer, in JSON. Processes that it has started end with it.
    """
    environment = {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
        "PYTHONPATH": os.pathsep.join([str(LIBRARY), os.environ.get("PYTHONPATH", "")]),
    }
    child = subprocess.Popen(
        [*command, json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,  # what follows the first line is left to `communicate`
        env=environment,
        start_new_session=True,
    )
    assert child.stdout is not None
    try:
        first = child.stdout.readline()
        rest, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"status": TIMED_OUT}
    finally:
        if child.poll() is None:  # timed out or interrupted
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
    if child.returncode == -signal.SIGKILL:
        return {"status": GAP, "gap": "the system ended the process, most likely short of memory"}
    if child.returncode != 0:
        raise RuntimeError(
            f"the process that should time {dict(request)} failed with code {child.returncode}; "
            "the log holds its error"
        )
    answer: dict[str, Any] = json.loads((first + rest).splitlines()[-1])
    return answer


# ------------------------------------------------------------------ in the separate process


def _answer(request: Mapping[str, Any], ready: Callable[[], None]) -> dict[str, Any]:
    """Make the data, call `ready`, value them."""
    # Imported here: a title in the registry is no part of what is timed.
    from nddv.methods.registry import get_method

    method = get_method(request["method"])
    try:
        keys = ("n", "features", "valid", "seed")
        problem = synthetic_problem(**{key: request[key] for key in keys})
        _warm_up(method, request["settings"])
        ready()
        values = value_or_gap(method.name, problem, request["seed"], **request["settings"])
    except (ImportError, MemoryError, RuntimeError) as error:
        if not _is_gap(method, error):
            raise
        return {"status": GAP, "gap": f"{type(error).__name__}: {error}"}
    if values.record.get("gap"):
        return {"status": GAP, "gap": values.record["gap"]}
    return {"status": DONE, **{key: values.record[key] for key in ("seconds", "peak_memory_mb")}}


def _warm_up(method: Method, settings: Mapping[str, Any]) -> None:
    """Import everything that the method uses, also late imports, before the time starts.

    For example, torch takes seconds to load when the first optimiser is made.
    """
    for name in method.modules:
        import_module(f"nddv.{name}")
    value_or_gap(method.name, synthetic_problem(*WARM_UP, "fixed", 0), 0, **settings)


def _is_gap(method: Method, error: Exception) -> bool:
    """Whether an error comes from the machine: no OpenDataVal, or no memory."""
    if isinstance(error, ImportError):
        return method.function.startswith("nddv.integrations.")
    return isinstance(error, MemoryError) or "allocate memory" in str(error)  # torch's words


def _main(request: Mapping[str, Any]) -> None:
    # What methods print goes to stderr: stdout is for the answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # If the system runs out of memory, this process is the one to end.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")

    def ready() -> None:
        print("ready", file=answers, flush=True)

    print(json.dumps(_answer(request, ready)), file=answers, flush=True)


if __name__ == "__main__":
    _main(json.loads(sys.argv[-1]))
