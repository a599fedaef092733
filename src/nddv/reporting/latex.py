"""Tables of text laid out for LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

BOLD = re.compile(r"\*\*(.+?)\*\*")
"""Text that is to be printed bold."""

WIDE_CELL = 40  # characters from which a column of a LaTeX table wraps
_LATEX: dict[str, str | int | None] = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"±": r"$\pm$", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "√": r"$\surd$"},
    **{"≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "≡": r"$\equiv$", "∞": r"$\infty$"},
    **{"✓": r"\checkmark{}", "✗": r"$\times$", "—": "---", "–": "--", "…": r"\ldots{}"},
    **{"ε": r"$\varepsilon$", "δ": r"$\delta$", "φ": r"$\phi$", "Δ": r"$\Delta$", "α": r"$\alpha$"},
    **{"β": r"$\beta$", "σ": r"$\sigma$", "μ": r"$\mu$", "ψ": r"$\psi$", "²": "$^2$", "‖": r"$\|$"},
    **{"∼": r"$\sim$", "½": r"$\frac12$", "∅": r"$\emptyset$"},
}
HAT = re.compile("(\\w|\\$[^$]*\\$)\u0302")


def _latex(cell: str) -> str:
    """Text for LaTeX: specials escaped, Greek and signs as mathematics, ** as bold."""
    parts = [_plain(part) for part in BOLD.split(cell)]
    # BOLD.split alternates between text and what was between the stars.
    return "".join(rf"\textbf{{{part}}}" if i % 2 else part for i, part in enumerate(parts))


def _plain(text: str) -> str:
    signs = text.translate(str.maketrans(_LATEX))
    return HAT.sub(lambda found: rf"$\hat{{{found[1].strip('$')}}}$", signs)


def to_latex(text: pd.DataFrame, title: str, footnote: str) -> str:
    """Lay a table of text out for LaTeX: a ``longtable``; it needs longtable, booktabs, amssymb."""
    widest = [max([len(c) for c in text[name]] + [0]) for name in text.columns]
    columns = "".join("p{0.25\\linewidth}" if width > WIDE_CELL else "l" for width in widest)

    def line(cells: Sequence[str]) -> str:
        return " & ".join(_latex(cell) for cell in cells) + r" \\"

    rows = [line(row) for row in text.itertuples(index=False, name=None)]
    head = line(list(text.columns))
    return "\n".join(
        [
            "% \\usepackage{longtable,booktabs,amssymb}",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{_latex(title)}. {_latex(footnote)}}}\\",
            r"\toprule",
            head,
            r"\midrule\endfirsthead",
            r"\toprule",
            head,
            r"\midrule\endhead",
            r"\bottomrule\endlastfoot",
            *rows,
            r"\end{longtable}",
            "",
        ]
    )
