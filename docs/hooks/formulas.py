"""Formulas between dollars become MathML, which browsers draw themselves: no script, no fonts."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.DOTALL)


def mathml(match: re.Match[str]) -> str:
    """One formula."""
    display = "block" if match[2] == "[" else "inline"
    return convert(html.unescape(match[3]).strip(), display=display)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """All formulas of a page."""
    return FORMULA.sub(mathml, content)
