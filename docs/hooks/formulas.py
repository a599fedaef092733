"""Formulas between dollars become drawings, by matplotlib: no script, no fonts, no network."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import matplotlib
from matplotlib.mathtext import math_to_image

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.DOTALL)
# what is about a file of its own
NOT_KEPT = re.compile(
    r'<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->| id="\w+_\d+"', flags=re.DOTALL
)
POINTS = 12  # the size of letters, one em of the page
SETTINGS = {"mathtext.fontset": "cm", "font.size": POINTS, "savefig.transparent": True}


def drawn(match: re.Match[str]) -> str:
    """One formula as an SVG picture, whose base line is that of the text around it."""
    kind, latex = match[2], " ".join(html.unescape(match[3]).split())
    if kind == "[":
        latex = latex.replace(r"\frac", r"\dfrac")
    file = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        depth = math_to_image(f"${latex}$", file, dpi=72, format="svg")
    svg = NOT_KEPT.sub("", file.getvalue())
    wide, high = re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2]
    ((box, inside),) = re.findall(r'<svg[^>]*(viewBox="[^"]+")[^>]*>(.*)</svg>', svg, re.DOTALL)
    size = f"width:{float(wide) / POINTS:.2f}em;height:{float(high) / POINTS:.2f}em"
    place = f"vertical-align:{-depth / POINTS:.2f}em" if kind == "(" else ""
    picture = (
        f'<svg class="formula" role="img" aria-label="{html.escape(latex)}" {box} '
        f'style="{size};{place}">{inside.replace("#000000", "currentColor")}</svg>'
    )
    return picture if kind == "(" else f'<div class="formula">{picture}</div>'


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """All formulas of a page."""
    return FORMULA.sub(drawn, content)
