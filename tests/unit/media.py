"""For tests of texts and pictures: small encoders under the names of the real ones."""

from __future__ import annotations

import io

import numpy as np
import yaml
from PIL import Image

from nddv.problems.encoders import known

CALLS: list[list[str]] = []  # what the encoder of texts was asked for, shard by shard


def letters(folder, device, *, alphabet="abc"):
    """Counts of some letters."""

    def encode(documents):
        if "stop" in documents:
            raise KeyboardInterrupt
        CALLS.append(list(documents))
        return np.array([[d.count(c) for c in alphabet] for d in documents], dtype=np.float32)

    return encode


def colours(folder, device):
    """The mean red, green and blue."""
    return lambda pictures: np.array([p.mean(axis=(0, 1)) / 255 for p in pictures], np.float32)


TEXT = {"data": "text", "dimension": 3, "function": "media:letters"}
PICTURE = {"data": "image", "dimension": 3, "function": "media:colours"}


def use_small_encoders(folder, monkeypatch) -> None:
    """The registry has these encoders only, and the cache is new."""
    entries = {"minilm": TEXT, "efficientnet-lite0": PICTURE}
    entries["vowels"] = {**TEXT, "dimension": 5, "settings": {"alphabet": "aeiou"}}
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump({"encoders": entries}))
    monkeypatch.setattr(known, "FILE", path)
    monkeypatch.setenv("NDDV_CACHE", str(folder / "cache"))
    CALLS.clear()


def picture_bytes(colour, size=(8, 6), form="PNG", mode="RGB", **options) -> bytes:
    """A file of one colour."""
    file = io.BytesIO()
    Image.new("RGB", size, colour).convert(mode).save(file, form, **options)
    return file.getvalue()
