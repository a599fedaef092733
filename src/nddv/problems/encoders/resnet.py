"""ResNet50 without its classifier, from weights in Keras' or in torchvision's layout."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from nddv.problems.encoders.load import Encode
from nddv.problems.encoders.pictures import (
    Picture,
    picture_encoder,
    resize,
    resize_and_crop,
    standardise,
)
from nddv.problems.encoders.weights import TORCH_NORM, assign_folded, find_one, read_pth

SIDE = 224
BLOCKS = (3, 4, 6, 3)
KERAS_EPSILON, TORCHVISION_EPSILON = 1e-3, 1e-5
KERAS_NORM = ("gamma", "beta", "moving_mean", "moving_variance")
# Means of ImageNet's pixels 0..255 that Caffe, and after it Keras, subtracts: blue, green, red.
CAFFE_MEAN = (103.939, 116.779, 123.68)


class Bottleneck(nn.Module):
    """1×1, 3×3, 1×1 convolutions around a shortcut."""

    def __init__(self, channels: int, width: int, stride: int, stride_at: str) -> None:
        super().__init__()
        first, second = (stride, 1) if stride_at == "1x1" else (1, stride)
        self.conv1 = nn.Conv2d(channels, width, 1, first)
        self.conv2 = nn.Conv2d(width, width, 3, second, padding=1)
        self.conv3 = nn.Conv2d(width, 4 * width, 1)
        self.downsample: nn.Module = nn.Identity()
        if channels != 4 * width:
            self.downsample = nn.Conv2d(channels, 4 * width, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv1(x).relu_()
        y = self.conv2(y).relu_()
        return (self.conv3(y) + self.downsample(x)).relu_()


class ResNet50(nn.Module):
    """ResNet50 up to the average pool, batch norms folded into the convolutions.

    The modules are named as torchvision names them.

    Parameters
    ----------
    stride_at : the convolution of a block that halves the size: ``"1x1"`` in the paper by He et al.
        and in Keras, ``"3x3"`` in torchvision ("v1.5").
    """

    def __init__(self, stride_at: str) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        channels = 64
        for stage, blocks in enumerate(BLOCKS):
            width = 64 * 2**stage
            layer = nn.Sequential()
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                layer.append(Bottleneck(channels, width, stride, stride_at))
                channels = 4 * width
            self.add_module(f"layer{stage + 1}", layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, 3, side, side) -> (batch, 2048)."""
        x = self.maxpool(self.conv1(x).relu_())
        for stage in range(len(BLOCKS)):
            x = self.get_submodule(f"layer{stage + 1}")(x)
        return x.mean(dim=(2, 3))


def keras_resnet50(folder: Path, device: str, *, batch_size: int = 16) -> Encode:
    """ResNet50 with Keras' ImageNet weights, stored as TensorFlow.js does.

    Pictures are stretched to 224 × 224.

    Parameters
    ----------
    folder : holds, at any depth, ``model.json`` and the binary shards that it names.
    """
    arrays = read_tensorflow_js(find_one(folder, "model.json"))
    mean = torch.tensor(CAFFE_MEAN)[:, None, None]

    def prepare(picture: Picture) -> torch.Tensor:
        return resize(picture, SIDE, SIDE).flip(0) - mean

    return picture_encoder(keras_network(arrays), prepare, device, batch_size)


def torchvision_resnet50(folder: Path, device: str, *, batch_size: int = 16) -> Encode:
    """ResNet50 with torchvision's ImageNet weights (version 1) and the transforms made for them.

    The shorter side is resized to 256 and the middle 224 × 224 cut out.

    Parameters
    ----------
    folder : holds, at any depth, one ``resnet50-*.pth``.
    """

    def prepare(picture: Picture) -> torch.Tensor:  # torchvision resizes in whole grey levels
        return standardise(resize_and_crop(picture, 256, SIDE).round())

    network = torchvision_network(read_pth(find_one(folder, "resnet50-*.pth")))
    return picture_encoder(network, prepare, device, batch_size)


def keras_network(arrays: Mapping[str, np.ndarray]) -> ResNet50:
    """Build the network from arrays in Keras' layout and under its names, ``res2a_branch2a`` ..."""

    def stored(name: str) -> tuple[torch.Tensor, ...]:
        convolution, norm = _keras_names(name)
        kernel = arrays[f"{convolution}/kernel"].transpose(3, 2, 0, 1)
        parts = [arrays[f"{norm}/{part}"] for part in KERAS_NORM]
        return tuple(map(torch.from_numpy, (kernel, arrays[f"{convolution}/bias"], *parts)))

    return assign_folded(partial(ResNet50, stride_at="1x1"), stored, KERAS_EPSILON)


def torchvision_network(weights: Mapping[str, torch.Tensor]) -> ResNet50:
    """Build the network from torchvision's named tensors."""

    def stored(name: str) -> tuple[torch.Tensor, ...]:
        convolution, norm = name, name.replace("conv", "bn")
        if name.endswith("downsample"):
            convolution, norm = f"{name}.0", f"{name}.1"
        parts = [weights[f"{norm}.{part}"] for part in TORCH_NORM]
        return weights[f"{convolution}.weight"], torch.zeros(()), *parts

    return assign_folded(partial(ResNet50, stride_at="3x3"), stored, TORCHVISION_EPSILON)


def read_tensorflow_js(path: Path) -> dict[str, np.ndarray]:
    """Read the named float32 arrays of a TensorFlow.js model: ``model.json`` and its shards."""
    arrays = {}
    for group in json.loads(path.read_text(encoding="utf-8"))["weightsManifest"]:
        for weight in group["weights"]:
            if weight["dtype"] != "float32" or "quantization" in weight:
                raise ValueError(f"{path}: {weight['name']} is not plain float32")
        raw = b"".join((path.parent / shard).read_bytes() for shard in group["paths"])
        sizes = [math.prod(weight["shape"]) for weight in group["weights"]]
        if 4 * sum(sizes) != len(raw):
            raise ValueError(
                f"{path}: its shards hold {len(raw)} bytes, but it lists {4 * sum(sizes)}"
            )
        values = np.frombuffer(raw, dtype="<f4").astype(np.float32)
        parts = np.split(values, np.cumsum(sizes)[:-1])
        for weight, part in zip(group["weights"], parts, strict=True):
            arrays[weight["name"]] = part.reshape(weight["shape"])
    return arrays


def _keras_names(name: str) -> tuple[str, str]:
    """``layer1.0.conv2`` is ``res2a_branch2b``, with the batch norm ``bn2a_branch2b``."""
    if name == "conv1":
        return "conv1", "bn_conv1"
    layer, block, convolution = name.split(".")
    branch = "1" if convolution == "downsample" else "2" + "abc"[int(convolution[-1]) - 1]
    place = f"{int(layer[-1]) + 1}{'abcdef'[int(block)]}_branch{branch}"
    return f"res{place}", f"bn{place}"
