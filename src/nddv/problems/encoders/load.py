"""From an entry of ``encoders.yaml`` to the function that encodes."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# Documents (str) or pictures ((h, w, 3) uint8) -> (items, dimension).
Encode = Callable[[Sequence[Any]], NDArray[np.float32]]


def load_encoder(
    entry: Mapping[str, Any], folder: str | Path | None, device: str = "auto"
) -> Encode:
    """Make the encoder that an entry describes.

    :func:`~nddv.problems.encoders.embed` checks its output, because it knows the rows.

    Parameters
    ----------
    entry : with ``function``, as ``"module:function"``, and ``settings``, its keyword arguments.
    folder : has the files of the entry's source; None for an encoder without files.
    device : "auto" (a GPU where there is one), "cpu" or "cuda".
    """
    name = str(entry["function"])
    function = _find(name)
    settings = dict(entry.get("settings") or {})
    arguments = (None if folder is None else Path(folder), _device(device))
    try:
        inspect.signature(function).bind(*arguments, **settings)
    except TypeError as error:
        raise ValueError(
            f"the settings {sorted(settings)} do not fit the encoder function {name}"
            f"{inspect.signature(function)}: {error}"
        ) from error
    encode = function(*arguments, **settings)
    if not callable(encode):
        raise TypeError(f"the encoder function {name} must return a function, got {encode!r}")
    return encode


def _find(name: str) -> Callable[..., Encode]:
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise ValueError(f"encoder function {name!r}: write it as module:function")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"encoder function {name}: {error}; install the package that has it, or put the folder "
            "of your own module on PYTHONPATH"
        ) from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ValueError(f"encoder function {name}: {module_name} has no function {function_name}")
    return function


def _device(name: str) -> str:
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError('device="cuda", but torch sees no GPU here: use device="auto" or "cpu"')
    if name not in ("cpu", "cuda"):
        raise ValueError(f'device must be "auto", "cpu" or "cuda", got {name!r}')
    return name
