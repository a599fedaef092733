"""Documents through a transformer language model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from nddv.problems.encoders.ahead import ahead
from nddv.problems.encoders.load import Encode
from nddv.problems.encoders.weights import find_one


def mean_pooled_transformer(
    folder: Path, device: str, *, max_tokens: int, normalise: bool = False, batch_size: int = 16
) -> Encode:
    """Average the last hidden states of a document's tokens, without the padding.

    The model is read from safetensors in ``folder``. Nothing is downloaded, and no code beside the
    weights is executed.

    Parameters
    ----------
    folder : holds, at any depth, one folder with ``model.safetensors``, ``config.json`` and the
        tokenizer's files.
    max_tokens : longest document, in tokens with the special ones; longer documents are cut.
    normalise : scale every row to length 1, as sentence-transformers do.
    batch_size : documents of similar length that go through the model together.
    """
    try:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise ImportError(f"{error}; documents need it: pip install 'nddv[encode]'") from error
    logging.disable_progress_bar()  # of the loading, which takes a moment
    model_folder = find_one(folder, "model.safetensors").parent
    closed = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(model_folder, **closed)
    model = AutoModel.from_pretrained(model_folder, **closed, use_safetensors=True)
    model = model.eval().to(device, torch.float32)
    if max_tokens > tokenizer.model_max_length:
        raise ValueError(
            f"max_tokens is {max_tokens}, but {folder} holds a model for at most "
            f"{tokenizer.model_max_length}"
        )

    def encode(documents: Sequence[str]) -> NDArray[np.float32]:
        for document in documents:
            if not isinstance(document, str):
                raise TypeError(f"a document must be a str, got {document!r}")
        # Documents of about the same length share a batch, so there is little padding.
        order = np.argsort([-len(document) for document in documents], kind="stable")
        batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]

        def tokenise(batch: NDArray[np.int64]) -> dict[str, torch.Tensor]:
            cut = {"padding": True, "truncation": True, "max_length": max_tokens}
            return tokenizer([documents[i] for i in batch], **cut, return_tensors="pt")

        rows = np.empty((len(documents), model.config.hidden_size), dtype=np.float32)
        with torch.inference_mode():
            for batch, tokens in zip(batches, ahead(tokenise, batches), strict=True):
                tokens = {name: tensor.to(device) for name, tensor in tokens.items()}
                hidden = model(**tokens).last_hidden_state
                mask = tokens["attention_mask"].unsqueeze(-1).to(hidden.dtype)
                pooled = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
                if normalise:
                    pooled = torch.nn.functional.normalize(pooled, dim=1)
                rows[batch] = pooled.cpu().numpy()
        return rows

    return encode
