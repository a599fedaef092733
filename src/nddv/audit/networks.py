"""Small networks that are trained from items as they are: numbers, pixels or words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor, nn

HIDDEN = 64
EMBEDDED = 32
"""Numbers of a word."""


@dataclass(frozen=True)
class Network:
    """How items become inputs, and what is trained on them.

    Attributes
    ----------
    inputs : (m, d) items, and those of the training part -> what the module takes.
    module : training inputs and the number of classes -> a module with its initial parameters, of
        torch's random numbers.
    """

    inputs: Callable[[Tensor, Tensor], Tensor]
    module: Callable[[Tensor, int], nn.Module]


def standardised(items: Tensor, train: Tensor) -> Tensor:
    """All numbers on one scale: that of the training part, whose spread becomes one."""
    return (items - train.mean()) / train.std()


def pictures(items: Tensor, train: Tensor) -> Tensor:
    """Rows (m, d) as square pictures (m, colours, side, side): three colours, or one."""
    d = items.shape[1]
    for colours in (3, 1):
        side = isqrt(d // colours)
        if colours * side * side == d:
            return standardised(items, train).reshape(-1, colours, side, side)
    raise ValueError(f"{d} numbers are no square picture: choose another module or data set")


def mlp(x: Tensor, classes: int) -> nn.Module:
    """Two hidden layers."""
    layers = nn.Linear(x.shape[1], HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU()
    return nn.Sequential(*layers, nn.Linear(HIDDEN, classes))


def convolution(x: Tensor, classes: int) -> nn.Module:
    """Two convolutions, each averaged over 2 × 2 places; the first has 8 × 8 places."""
    colours, side = x.shape[1:3]
    stride = max(1, side // 8)
    first = nn.Conv2d(colours, 16, stride + 2, stride, 1), nn.GELU(), nn.AvgPool2d(2)
    second = nn.Conv2d(16, 32, 3, padding=1), nn.GELU(), nn.AvgPool2d(2), nn.Flatten()
    module = nn.Sequential(*first, *second)
    with torch.no_grad():
        width = module(x[:1]).shape[1]
    return module.append(nn.Linear(width, classes))


class Bag(nn.Module):
    """The mean of the embeddings of words, and a hidden layer."""

    def __init__(self, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(vocabulary, EMBEDDED, mode="mean", padding_idx=0)
        nn.init.normal_(self.words.weight, std=0.1)  # more would drown what is learnt of rare words
        hidden = nn.Linear(EMBEDDED, HIDDEN), nn.GELU()
        self.head = nn.Sequential(*hidden, nn.Linear(HIDDEN, classes))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, classes) of numbers of words (B, length), 0 where there is none."""
        outputs: Tensor = self.head(self.words(x))
        return outputs


def bag(x: Tensor, classes: int) -> nn.Module:
    """A classifier of documents."""
    return Bag(int(x.max()) + 1, classes)


NETWORKS = {
    "mlp": Network(standardised, mlp),
    "convolution": Network(pictures, convolution),
    "bag": Network(lambda items, train: items.long(), bag),
}
