"""Encode pictures with a convolutional network: resizing, batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from nddv.problems.encoders.ahead import ahead
from nddv.problems.encoders.load import Encode

Picture = NDArray[np.uint8]  # (h, w, 3), red first

# Mean and spread of ImageNet's pixels in [0, 1], red first, as torchvision's models use them.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def picture_encoder(
    network: nn.Module,
    prepare: Callable[[Picture], torch.Tensor],
    device: str,
    batch_size: int,
) -> Encode:
    """Prepare pictures in a thread and run them through a network in batches.

    Parameters
    ----------
    network : (batch, 3, side, side) -> (batch, dimension)
    prepare : one picture -> (3, side, side) float32
    """
    # Channels last is the layout that CPU and GPU kernels are fastest in.
    network = network.eval().to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def encode(pictures: Sequence[Picture]) -> NDArray[np.float32]:
        def stack(batch: Sequence[Picture]) -> torch.Tensor:
            prepared = torch.stack([prepare(picture) for picture in batch])
            return prepared.contiguous(memory_format=torch.channels_last)

        batches = [pictures[i : i + batch_size] for i in range(0, len(pictures), batch_size)]
        with torch.inference_mode():
            rows = [network(batch.to(device)).cpu().numpy() for batch in ahead(stack, batches)]
        return np.concatenate(rows)

    return encode


def resize(picture: Picture, height: int, width: int) -> torch.Tensor:
    """Resize by bilinear interpolation, with antialiasing; (3, height, width), 0..255."""
    picture = np.asarray(picture)
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
        raise ValueError(
            f"a picture must be (height, width, 3) uint8, got {picture.shape} {picture.dtype}: "
            "convert it to RGB"
        )
    pixels = torch.from_numpy(picture.astype(np.float32, order="C")).permute(2, 0, 1)
    resized = torch.nn.functional.interpolate(
        pixels[None], size=(height, width), mode="bilinear", align_corners=False, antialias=True
    )
    return resized[0]


def resize_and_crop(picture: Picture, shorter: int, side: int) -> torch.Tensor:
    """Resize so that the shorter side is ``shorter``, then cut out the middle; (3, side, side)."""
    height, width = (shorter * size // min(picture.shape[:2]) for size in picture.shape[:2])
    resized = resize(picture, height, width)
    top, left = (round((size - side) / 2) for size in resized.shape[1:])
    return resized[:, top : top + side, left : left + side]


def standardise(pixels: torch.Tensor) -> torch.Tensor:
    """Map pixels 0..255 to ImageNet's mean 0 and spread 1."""
    mean, std = torch.tensor(IMAGENET_MEAN), torch.tensor(IMAGENET_STD)
    return (pixels / 255 - mean[:, None, None]) / std[:, None, None]
