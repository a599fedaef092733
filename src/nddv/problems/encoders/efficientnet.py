"""EfficientNet-lite0 without its classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import pad, relu6

from nddv.problems.encoders.load import Encode
from nddv.problems.encoders.pictures import Picture, picture_encoder, resize
from nddv.problems.encoders.weights import TORCH_NORM, assign_folded, find_one, read_pth

SIDE = 224
EPSILON = 1e-3
# Repeats, kernel size, stride of the first, expansion and output channels of each stage.
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
# Our names of the convolutions -> the stored names of them and of their batch norms.
STORED_NAMES = {
    "stem": ("_conv_stem", "_bn0"),
    "expand": ("_expand_conv", "_bn0"),
    "depthwise": ("_depthwise_conv", "_bn1"),
    "project": ("_project_conv", "_bn2"),
    "head": ("_conv_head", "_bn1"),
}


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's "SAME" padding: an odd row or column goes to the far side."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        needed = (kernel - stride if n % stride == 0 else kernel - n % stride for n in x.shape[2:])
        height, width = (max(total, 0) for total in needed)
        return super().forward(
            pad(x, (width // 2, width - width // 2, height // 2, height - height // 2))
        )


class InvertedBottleneck(nn.Module):
    """Expansion, a convolution per channel, projection; a shortcut where the shapes allow it."""

    def __init__(self, channels: int, kernel: int, stride: int, expansion: int, out: int) -> None:
        super().__init__()
        wide = channels * expansion
        self.expand = nn.Conv2d(channels, wide, 1) if expansion > 1 else None
        self.depthwise = SameConv2d(wide, wide, kernel, stride, groups=wide)
        self.project = nn.Conv2d(wide, out, 1)
        self.shortcut = stride == 1 and channels == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x if self.expand is None else relu6(self.expand(x))
        y = self.project(relu6(self.depthwise(y)))
        return y + x if self.shortcut else y


class EfficientNetLite0(nn.Module):
    """EfficientNet-lite0 up to the average pool, batch norms folded into the convolutions."""

    def __init__(self) -> None:
        super().__init__()
        channels = 32
        self.stem = SameConv2d(3, channels, 3, 2)
        self.blocks = nn.Sequential()
        for repeats, kernel, stride, expansion, out in STAGES:
            for repeat in range(repeats):
                step = stride if repeat == 0 else 1
                self.blocks.append(InvertedBottleneck(channels, kernel, step, expansion, out))
                channels = out
        self.head = nn.Conv2d(channels, 1280, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, 3, side, side) -> (batch, 1280)."""
        x = self.blocks(relu6(self.stem(x)))
        return relu6(self.head(x)).mean(dim=(2, 3))


def efficientnet_lite0(folder: Path, device: str, *, batch_size: int = 16) -> Encode:
    """EfficientNet-lite0 with ImageNet weights.

    Pictures are stretched to 224 × 224. Pixels become (pixel − 127)/128, as for the authors of the
    network.

    Parameters
    ----------
    folder : holds, at any depth, one ``efficientnet-lite0-*.pth``.
    """

    def prepare(picture: Picture) -> torch.Tensor:
        return (resize(picture, SIDE, SIDE) - 127) / 128

    network = stored_network(read_pth(find_one(folder, "efficientnet-lite0-*.pth")))
    return picture_encoder(network, prepare, device, batch_size)


def stored_network(weights: Mapping[str, torch.Tensor]) -> EfficientNetLite0:
    """Build the network from the named tensors of the package ``efficientnet-lite-pytorch``."""

    def stored(name: str) -> tuple[torch.Tensor, ...]:
        place, _, own = name.rpartition(".")
        prefix = f"_{place}." if place else ""
        convolution, norm = STORED_NAMES[own]
        parts = [weights[f"{prefix}{norm}.{part}"] for part in TORCH_NORM]
        return weights[f"{prefix}{convolution}.weight"], torch.zeros(()), *parts

    return assign_folded(EfficientNetLite0, stored, EPSILON)
