"""Bags of embeddings from operations that can be differentiated twice; torch's own cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class DifferentiableBags(TorchFunctionMode):
    """While this is active, `torch.nn.EmbeddingBag` has gradients of gradients."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        call = embedding_bag if function is F.embedding_bag else function
        return call(*args, **(kwargs or {}))


def embedding_bag(
    input: Tensor,  # noqa: A002 (torch's name)
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """As `torch.nn.functional.embedding_bag`, for sums and means: (bags, D)."""
    if mode == "max" or max_norm is not None or scale_grad_by_freq:
        raise ValueError(
            "an EmbeddingBag can be replayed with mode 'sum' or 'mean', without max_norm and "
            "scale_grad_by_freq"
        )
    if input.ndim == 2:
        bags, length = input.shape
        of = torch.arange(bags, device=input.device).repeat_interleave(length)
    else:
        if offsets is None:
            raise ValueError("an EmbeddingBag needs offsets for a list of all indices")
        starts = offsets[:-1] if include_last_offset else offsets
        bags = len(starts)
        marks = torch.zeros(len(input) + 1, dtype=torch.long, device=input.device)
        marks.index_add_(0, starts, torch.ones_like(starts))
        of = marks[:-1].cumsum(0) - 1
    index = input.reshape(-1)
    rows, counted = F.embedding(index, weight), torch.ones_like(index, dtype=weight.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if padding_idx is not None:
        counted = counted * (index != padding_idx)
        rows = rows * counted.unsqueeze(1)
    total = rows.new_zeros(bags, weight.shape[1]).index_add(0, of, rows)
    if mode == "sum":
        return total
    counts = counted.new_zeros(bags).index_add(0, of, counted)
    return total / counts.clamp_min(1).unsqueeze(1)
