"""Messages of errors: one line, and not as long as the file that they are about."""

from __future__ import annotations

LONGEST = 600  # letters: names and entries of a strange file may be as long as the file


def one_line(message: object) -> str:
    """A message, or an error's, without line breaks; the middle of a long one is left out."""
    text = " ".join(str(message).split())
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return text
