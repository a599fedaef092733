"""Encoders: documents and pictures become rows of numbers.

An encoder is one entry of ``config/encoders.yaml`` and the function that it names,

    function(folder, device, **settings) -> encode

where ``folder`` holds the fetched weights and ``encode`` maps documents (``str``) or pictures
((h, w, 3) uint8, red first) to (items, dimension) float32. :func:`load_encoder` calls the function;
:func:`embed` applies ``encode`` to a whole data set, in shards that survive a killed run.
"""

from nddv.problems.encoders.embed import embed
from nddv.problems.encoders.load import Encode, load_encoder

__all__ = ["Encode", "embed", "load_encoder"]
