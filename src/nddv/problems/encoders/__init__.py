"""Encoders: documents and pictures become rows of numbers.

An encoder is one entry of ``encoders.yaml``, here in this folder, and the function that it names,

    function(folder, device, **settings) -> encode

where ``folder`` holds the fetched weights and ``encode`` maps documents (``str``) or pictures
((h, w, 3) uint8, red first) to (items, dimension) float32. :func:`load_encoder` calls the function;
:func:`embed` applies ``encode`` to a whole data set, in shards that survive a killed run;
:func:`encode_items` does all of this for documents and picture files of a user's own, and keeps the
rows by content. Names are loaded on first use: the registry, ``known``, needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nddv.problems.encoders.items import Encoded, encode_items
    from nddv.problems.encoders.known import known_encoders
    from nddv.problems.encoders.load import Encode, load_encoder
    from nddv.problems.encoders.shards import embed

_HOMES = {
    "Encode": "load",
    "Encoded": "items",
    "embed": "shards",
    "encode_items": "items",
    "known_encoders": "known",
    "load_encoder": "load",
}

__all__ = ["Encode", "Encoded", "embed", "encode_items", "known_encoders", "load_encoder"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
