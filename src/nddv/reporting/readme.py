"""The verdicts that README.md shows, from the table of claims: ``make findings`` writes them.

Between two marks, the README has a sentence with counts, and a table. A line of the table names a
claim in words and by its id; these stay as they are, and the verdicts between them are filled in.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from pathlib import Path

from nddv.support.files import atomic_write

BEGIN, END = "<!-- findings, written by `make findings` -->\n", "<!-- end of findings -->"
VERDICTS = ("verdict", "verdict_released", "verdict_ours")
HEAD = (
    "| the paper says | with its equations | with the released procedure | with ours | claim |\n"
    "|---|---|---|---|---|\n"
)
ROW = re.compile(r"^\| ([^|]+?) \|(?:[^|\n]*\|){3} `([a-z0-9-]+)` \|$", flags=re.MULTILINE)


def updated(text: str, claims: list[dict[str, str]]) -> str:
    """A README with the verdicts of claims, each a row of the table."""
    before, begin, rest = text.partition(BEGIN)
    block, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"README.md has no lines {BEGIN.strip()} and {END}")
    return f"{before}{begin}{_block(block, claims)}{end}{after}"


def _block(block: str, claims: list[dict[str, str]]) -> str:
    known = {claim["id"]: claim for claim in claims}
    rows = ROW.findall(block)
    if unknown := [name for _, name in rows if name not in known]:
        raise ValueError(f"README.md names claims that are in no table: {', '.join(unknown)}")
    lines = [
        " ".join(["|", words, "|", *(f"{known[name][v]} |" for v in VERDICTS), f"`{name}` |"])
        for words, name in rows
    ]
    paper, ours = (Counter(claim[v] for claim in claims) for v in (VERDICTS[0], VERDICTS[2]))
    counts = (
        f"Of {len(claims)} empirical claims, {paper['reproduced']} are reproduced with the paper's "
        f"equations, {paper['partly']} partly,\n{paper['not reproduced']} not, and "
        f"{paper['not run']} were not run. With ours, {ours['reproduced']} are reproduced, "
        f"{ours['partly']} partly, and {ours['not reproduced']} not.\n"
    )
    return f"\n{counts}\n{HEAD}" + "\n".join(lines) + "\n\n"


def main(root: Path) -> None:
    """Bring the README of a project up to date with its report."""
    with (root / "reports" / "tables" / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    readme = root / "README.md"
    text = updated(readme.read_text(encoding="utf-8"), claims)
    with atomic_write(readme) as path:
        Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main(Path())
    except (OSError, ValueError) as error:
        sys.exit(f"make findings: {error}")
