"""Pictures of few bytes."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

COLOURS = 256


def flattened(path: str | Path, width: int | None = None) -> Image.Image:
    """A picture on white, with a palette of few colours, and at most so wide."""
    with Image.open(path) as opened:
        white = Image.new("RGBA", opened.size, "white")
        image = Image.alpha_composite(white, opened.convert("RGBA")).convert("RGB")
    if width and image.width > width:
        height = round(image.height * width / image.width)
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    # The default, median cut, spends its colours on the many greys of thin lines and merges the
    # blue of a few bars with their green. Dithering would freckle flat areas.
    return image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
