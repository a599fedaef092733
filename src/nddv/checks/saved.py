"""A checked run in a folder: it scores rows that it has not seen, in another process.

    nddv.check(X, y).save("run/")
    nddv.load_run("run/").score(X_new, y_new)     # value, p_wrong, suggested

The numbers are in ``run.safetensors``, all else in ``run.json``; nothing in them is executed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from nddv.checks.channel import Channel, Fit
from nddv.checks.labels import LabelCheck, best_other, wrong_probability
from nddv.checks.rows import as_table
from nddv.dynamics.flow import Flow
from nddv.dynamics.inputs import Bins, Inputs
from nddv.dynamics.looks import Glance, class_scores
from nddv.dynamics.rows import Rows
from nddv.estimator.nddv import NDDV
from nddv.estimator.validation import check_features, check_targets
from nddv.problems.fetch.checksums import file_sha256
from nddv.support.files import read_json, umask, write_json
from nddv.support.measuring import versions
from nddv.support.wording import InputError, one_line
from nddv.tabular.encoding import Column, Encoding, Rules

FORMAT = 1
"""Of the folder; raised whenever an older one could not be read rightly."""

RUN, NUMBERS = "run.json", "run.safetensors"

DAMAGES = (
    *(OSError, SafetensorError, LookupError),
    *(TypeError, ValueError, AttributeError, RuntimeError),
)
"""What reading a damaged run may raise."""


@dataclass(frozen=True)
class SavedRun:
    """What a run needs to score other rows.

    Attributes
    ----------
    classes : (C,) labels.
    features : names of the d features, or None where they have none.
    flow, glances, inputs : the model, as it looked at rows along its training.
    dtype : of its numbers.
    channel : from true labels to given ones.
    middle : the mean of the scores of the given labels, which values are relative to.
    encoding : how the columns of a table become features; None if they are numbers already.
    record : what else was written, for instance by the command line.
    """

    classes: NDArray[Any]
    features: list[str] | None
    flow: Flow
    glances: list[Glance]
    inputs: Inputs
    dtype: torch.dtype
    channel: Channel
    middle: float
    encoding: Encoding | None = None
    record: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: NDDV,
        labels: LabelCheck,
        encoding: Encoding | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> SavedRun:
        """The run of a fitted model whose labels were checked."""
        run = model.folds_[0].runs[0]
        names = getattr(model, "feature_names_in_", None)
        return cls(
            labels.classes,
            None if names is None else [str(name) for name in names],
            run.flow,
            run.glances,
            run.data.rows.inputs,
            run.data.rows.dtype,
            labels.channel,
            float(model.sensitivities_.mean()),
            encoding,
            dict(record or {}),
        )

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Class scores (m, C) of rows (m, d) (`NDDV.class_scores`)."""
        x = check_features(X, "X", self.features)
        if x.shape[1] != len(self.inputs.mean):
            raise InputError(f"X has {x.shape[1]} features, but the run {len(self.inputs.mean)}")
        rows = Rows(torch.as_tensor(np.asarray(x)), None, self.inputs, self.dtype)
        return np.asarray(class_scores(self.flow, self.glances, rows).numpy(force=True))

    def score(self, X: Any, y: Any = None) -> pd.DataFrame:
        """What the run says of rows (m, d) that it has not seen.

        X : features; or, where the run was given a frame of words and dates, such a frame.

        Returns
        -------
        suggested and p_suggested; with labels y (m,) also value and p_wrong.
        """
        scores = self.scores(self._encoded(X))
        if y is None:
            truth = self.channel.truth(scores)
            best = truth.argmax(1)
            return pd.DataFrame({"suggested": self.classes[best], "p_suggested": truth.max(1)})
        labels = check_targets(y, len(scores), "y", "X")
        # as objects: a cast to the type of the classes would cut long words and fractions
        known = pd.Index(self.classes.astype(object))
        codes = known.get_indexer(pd.Index(labels.astype(object), dtype=object))
        if (codes < 0).any():
            row = int((codes < 0).argmax())
            strange = labels[row : row + 1].tolist()[0]
            raise InputError(f"y has a class that the run has not, {strange!r} in row {row}")
        truth = self.channel.mean(self.channel.posteriors(scores, codes))
        p_wrong = wrong_probability(truth, codes)
        places = np.where(p_wrong > 0.5, best_other(truth, codes), codes)
        rows = np.arange(len(codes))
        return pd.DataFrame(
            {
                "value": scores[rows, codes] - self.middle,
                "p_wrong": p_wrong,
                "suggested": self.classes[places],
                "p_suggested": truth[rows, places],
            }
        )

    def _encoded(self, X: Any) -> Any:
        """Features of a frame; rows with categories that the run does not know are refused."""
        if self.encoding is None or not isinstance(X, pd.DataFrame):
            return X
        if list(X.columns) == self.features:
            return X
        table = as_table(X, "X")
        for reasons in self.encoding.unknown_levels(table):
            if reasons.any():
                row = int(reasons.astype(bool).argmax())
                raise InputError(f"row {row}: {reasons[row]}; leave such rows out")
        return self.encoding.apply(table)


def save_run(folder: str | Path, run: SavedRun, replace: bool = False) -> None:
    """Write a run to a folder: whole, or not at all.

    replace : a run that is there goes; anything else is never touched.
    """
    folder = Path(folder)
    check_folder(folder, replace)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
        made = Path(scratch) / "run"
        made.mkdir()
        tensors = {name: part.detach().cpu().contiguous() for name, part in _tensors(run).items()}
        save_file(tensors, made / NUMBERS)
        (made / NUMBERS).chmod(0o666 & ~umask())
        write_json(made / RUN, _description(run, file_sha256(made / NUMBERS)))
        before = Path(scratch) / "before"
        if folder.exists():
            folder.rename(before)
        try:
            made.rename(folder)
        except OSError:
            if before.exists():
                before.rename(folder)
            raise


def check_folder(folder: Path, replace: bool) -> None:
    """Raise if a run must not be written here."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / RUN).is_file():
        raise InputError(f"{folder} is there and holds no run: name another folder")
    if not replace:
        raise InputError(f"{folder} holds a run already: name another folder, or replace it")


def load_run(folder: str | Path) -> SavedRun:
    """Read a run that `save_run` wrote; anything else is refused, with the reason."""
    folder = Path(folder)
    if not (folder / RUN).is_file():
        raise InputError(f"{folder} holds no run: there is no {RUN} in it")
    try:
        about = read_json(folder / RUN)
        found = about["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / RUN} is damaged: save the run again") from error
    if found != FORMAT:
        raise InputError(
            f"{folder} has the format {found}, and this nddv reads {FORMAT}: save the run again"
        )
    try:
        if file_sha256(folder / NUMBERS) != about["sha256"]:
            raise InputError(f"{folder / NUMBERS} has changed since it was written: save it again")
        run = _restored(about, load_file(folder / NUMBERS))
        _check_parts(run)
    except InputError:
        raise
    except DAMAGES as error:
        reason = one_line(error)
        raise InputError(f"{folder} is damaged ({reason}): save the run again") from error
    return run


def _check_parts(run: SavedRun) -> None:
    """Raise one of `DAMAGES` if the parts of a run do not fit together."""
    width = len(run.inputs.mean)
    if len(run.classes) != run.flow.outputs or len(run.features or range(width)) != width:
        raise ValueError("its classes or features are not those of its numbers")
    run.channel.truth(run.scores(np.zeros((1, width))))


def _description(run: SavedRun, sha256: str) -> dict[str, Any]:
    encoding = None
    if run.encoding is not None:
        columns = [asdict(column) for column in run.encoding.columns]
        encoding = {"columns": columns, "rules": asdict(run.encoding.rules)}
    fits = [{k: np.asarray(v).tolist() for k, v in asdict(f).items()} for f in run.channel.fits]
    return {
        "format": FORMAT,
        "versions": versions(),
        "sha256": sha256,
        "classes": run.classes.tolist(),
        "class_type": run.classes.dtype.str,
        "features": run.features,
        "flow": asdict(run.flow),
        "dtype": str(run.dtype).removeprefix("torch."),
        "middle": run.middle,
        "channel": {
            "middle": run.channel.middle,
            "fits": fits,
            "weights": run.channel.weights.tolist(),
            "covariances": run.channel.covariances.tolist(),
        },
        "encoding": encoding,
        "record": run.record,
    }


def _tensors(run: SavedRun) -> dict[str, Tensor]:
    tensors = {}
    for t, seen in enumerate(run.glances):
        tensors[f"look{t}.flat"] = seen.flat
        tensors[f"look{t}.aggregates"] = torch.stack(list(seen.aggregates))
    inputs = vars(run.inputs)
    tensors |= {f"inputs.{name}": inputs[name] for name in inputs if name != "bins"}
    if run.inputs.bins is not None:
        tensors |= {f"bins.{name}": part for name, part in vars(run.inputs.bins).items()}
    return tensors


def _restored(about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> SavedRun:
    def group(prefix: str) -> dict[str, Tensor]:
        start = f"{prefix}."
        return {k.removeprefix(start): v for k, v in tensors.items() if k.startswith(start)}

    looks = sum(name.endswith(".flat") for name in tensors)
    glances = [
        Glance(tensors[f"look{t}.flat"], list(tensors[f"look{t}.aggregates"])) for t in range(looks)
    ]
    bins = group("bins")
    channel = about["channel"]
    encoding = about["encoding"]
    return SavedRun(
        np.array(about["classes"], dtype=about["class_type"]),
        about["features"],
        Flow(**about["flow"]),
        glances,
        Inputs(**group("inputs"), bins=Bins(**bins) if bins else None),
        getattr(torch, about["dtype"]),
        Channel(
            float(channel["middle"]),
            tuple(map(_fit, channel["fits"])),
            np.array(channel["weights"]),
            np.array(channel["covariances"]),
        ),
        float(about["middle"]),
        None if encoding is None else _encoding(encoding),
        about["record"],
    )


def _fit(stored: dict[str, Any]) -> Fit:
    parts: dict[str, Any] = {
        name: np.array(part) if isinstance(part, list) else part for name, part in stored.items()
    }
    return Fit(**parts)


def _encoding(stored: Mapping[str, Any]) -> Encoding:
    columns = tuple(Column(**_tuples(column)) for column in stored["columns"])
    return Encoding(columns, Rules(**_tuples(stored["rules"])))


def _tuples(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Lists, which JSON has, as the tuples that they were."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
