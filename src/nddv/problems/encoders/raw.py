"""Items as they are, for models that are trained from them: pixels, and numbers of words.

Neither has weights. A row holds whole numbers up to 2048, which `float16` has exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nddv.problems.encoders.load import Encode

WORD = re.compile(r"\w{4,}")  # shorter ones say little of the topic
MOST_WORDS = 2048  # numbers that float16 tells apart


def pixels(folder: Path | None, device: str, side: int = 32) -> Encode:
    """Pictures, resized to side × side; a row has all reds, then greens, then blues: 0 to 255."""

    def encode(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        from PIL import Image

        rows = []
        for picture in pictures:
            if picture.shape[:2] != (side, side):
                picture = np.asarray(Image.fromarray(picture).resize((side, side)))
            rows.append(picture.transpose(2, 0, 1).reshape(-1))
        return np.asarray(rows, dtype=np.float32)

    return encode


def words(
    folder: Path | None, device: str, max_tokens: int = 128, vocabulary: int = MOST_WORDS
) -> Encode:
    """The first longer words of documents, as hashes: 1 to vocabulary − 1; 0 fills a row up."""
    if not 2 <= vocabulary <= MOST_WORDS:
        raise ValueError(f"vocabulary must be 2 to {MOST_WORDS}, got {vocabulary}")

    def encode(documents: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(documents), max_tokens), dtype=np.float32)
        for row, document in zip(rows, documents, strict=True):
            found = WORD.findall(document.lower())[:max_tokens]
            row[: len(found)] = [1 + crc32(w.encode()) % (vocabulary - 1) for w in found]
        return rows

    return encode
