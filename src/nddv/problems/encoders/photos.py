"""Picture files of a user's own: from bytes to (h, w, 3) uint8, as a person sees them."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from nddv.support.wording import one_line

# Pillow reads more formats; some of these start other programs.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
MOST_PIXELS = 2**27  # of a file; a small file may claim to be so large as to fill the memory
KEPT_PIXELS = 2**18  # enough for all encoders, so that many pictures fit in memory


class Refused(ValueError):
    """A picture that cannot be used; the message says why."""


def decode(content: bytes) -> NDArray[np.uint8]:
    """A picture upright and in colours, transparent parts white, at most ``KEPT_PIXELS`` large.

    Of an animation it is the first picture. Raises :class:`Refused` if it cannot be used.
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            return _decode(picture)
    except Image.DecompressionBombError:
        raise Refused(_too_large()) from None
    except UnidentifiedImageError:
        raise Refused(f"it is no {', '.join(FORMATS[:-1])} or {FORMATS[-1]} file") from None
    except (MemoryError, Refused):
        raise
    except Exception as error:  # every format has its own kinds of errors
        raise Refused(f"it cannot be read ({one_line(error) or type(error).__name__})") from error


def _decode(picture: Image.Image) -> NDArray[np.uint8]:
    pixels = picture.width * picture.height
    if pixels > MOST_PIXELS:
        raise Refused(_too_large())
    factor = math.sqrt(min(1.0, KEPT_PIXELS / pixels))
    size = max(round(factor * picture.width), 1), max(round(factor * picture.height), 1)
    picture.draft(None, size)  # a JPEG file can be read at a half, a quarter, an eighth
    colours = _colours(picture)
    if factor < 1:
        colours = colours.resize(size, Image.Resampling.BOX, reducing_gap=2.0)
    orientation = picture.getexif()
    colours.info.pop("exif", None)
    colours.getexif().update(orientation)
    return np.asarray(ImageOps.exif_transpose(colours))


def _colours(picture: Image.Image) -> Image.Image:
    """Red, green and blue; transparent parts become white."""
    if picture.mode.startswith("I;16"):
        grey = (np.asarray(picture) >> 8).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    if picture.mode in ("I", "F"):
        raise Refused("its pixels have 32 bits; save it with 8 bits a colour")
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    seen = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")


def _too_large() -> str:
    return f"it has more than {MOST_PIXELS / 1e6:.0f} million pixels; save it smaller"
