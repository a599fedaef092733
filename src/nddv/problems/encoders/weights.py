"""Stored weights: find them, read them, and fold batch norms into convolutions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

# Scale, shift, mean and variance of a batch norm, as torch names them.
TORCH_NORM = ("weight", "bias", "running_mean", "running_var")

Network = TypeVar("Network", bound=nn.Module)


def find_one(folder: Path, pattern: str) -> Path:
    """Find the only file below ``folder``, at any depth, whose name matches."""
    paths = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if len(paths) != 1:
        names = ", ".join(str(path.relative_to(folder)) for path in paths) or "none"
        raise FileNotFoundError(f"exactly one {pattern} is expected below {folder}, found: {names}")
    return paths[0]


def read_pth(path: Path) -> dict[str, torch.Tensor]:
    """Read named tensors from a ``.pth`` file, which is a pickle.

    With ``weights_only`` torch's restricted reader accepts only tensors and plain containers, so no
    code in the file can run. The SHA-256 of the file was compared when it was fetched.
    """
    return torch.load(path, map_location="cpu", weights_only=True)


def assign_folded(
    make: Callable[[], Network], stored: Callable[[str], tuple[torch.Tensor, ...]], epsilon: float
) -> Network:
    """Make a network and give every convolution its stored kernel, its batch norm folded in.

    scale·(kernel∗x + bias − mean)/√(variance + ε) + shift is again a convolution with a bias. So a
    trained network needs no batch norm.

    Parameters
    ----------
    make : makes the network, on the device "meta", so that no weights are drawn in vain.
    stored : name of a convolution -> kernel (out, in, h, w), bias, scale, shift, mean and variance,
        (out,) each.
    """
    with torch.device("meta"):
        network = make()
    state = {}
    for name, module in network.named_modules():
        if not isinstance(module, nn.Conv2d):
            continue
        kernel, bias, scale, shift, mean, variance = (part.double() for part in stored(name))
        factor = scale / torch.sqrt(variance + epsilon)
        state[f"{name}.weight"] = (kernel * factor[:, None, None, None]).float()
        state[f"{name}.bias"] = ((bias - mean) * factor + shift).float()
    network.load_state_dict(state, assign=True)
    return network
