"""Tutorials: Python files whose cells are executed, each followed by what it prints and draws.

A cell begins with ``# %%``, one of words with ``# %% [markdown]``. ``execute`` runs the cells of a
file in order, as a program of their own. What they gave is kept in ``.cache/tutorials`` until the
file or the library changes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
KEPT = ROOT / ".cache" / "tutorials"
CELL = re.compile(r"^# %%( \[markdown\])?\n", flags=re.MULTILINE)


def cells(source: str) -> list[tuple[bool, str]]:
    """Whether a cell is of words, and its text."""
    _, *parts = CELL.split(source)
    return [(bool(kind), text.strip()) for kind, text in zip(parts[::2], parts[1::2], strict=True)]


def run(path: Path) -> dict[str, Any]:
    """Run the cells here: the page, its pictures, and the processor seconds of this program."""
    from matplotlib import pyplot

    pyplot.rcParams.update({"savefig.dpi": 130, "figure.constrained_layout.use": True})
    page, pictures, names = [], [], {"__name__": "__main__"}
    for is_words, text in cells(path.read_text(encoding="utf-8")):
        if is_words:
            page.append(re.sub(r"^# ?", "", text, flags=re.MULTILINE))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, str(path), "exec"), names)
        page.append(f"```python\n{text}\n```")
        if printed.getvalue():
            page.append(f"```text {{.output}}\n{printed.getvalue().rstrip()}\n```")
        for number in pyplot.get_fignums():
            file, figure = io.BytesIO(), pyplot.figure(number)
            figure.savefig(file, format="png")
            pictures.append(base64.b64encode(file.getvalue()).decode())
            width = 80 * figure.get_figwidth()
            page.append(f'![]({path.stem}_{len(pictures)}.png){{ width="{width:.0f}" }}')
        pyplot.close("all")
    text = "\n\n".join(page) + "\n"
    return {"page": text, "pictures": pictures, "seconds": time.process_time()}


def execute(path: Path) -> dict[str, Any]:
    """Run a tutorial in a process of its own, and keep what it gave."""
    own = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    options = {"cwd": path.parent, "env": {**os.environ, **own}, "text": True}
    done = subprocess.run([sys.executable, __file__, path], capture_output=True, **options)
    if done.returncode:
        raise RuntimeError(f"{path.name} does not run:\n{done.stderr}")
    KEPT.mkdir(parents=True, exist_ok=True)
    for older in KEPT.glob(f"{path.stem}-*.json"):
        older.unlink(missing_ok=True)
    (KEPT / f"{path.stem}-{key(path)}.json").write_text(done.stdout, encoding="utf-8")
    return dict(json.loads(done.stdout))


def key(path: Path) -> str:
    """What the result depends on: the tutorial, this file and the library."""
    digest = hashlib.sha256()
    for source in [path, Path(__file__), *sorted((ROOT / "src").rglob("*.py"))]:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def on_files(files: Any, config: Any) -> Any:
    """A page, and its pictures, for every tutorial."""
    from mkdocs.structure.files import File

    for path in sorted(TUTORIALS.glob("*.py")):
        kept = KEPT / f"{path.stem}-{key(path)}.json"
        made = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else execute(path)
        files.append(File.generated(config, f"tutorials/{path.stem}.md", content=made["page"]))
        for number, picture in enumerate(made["pictures"], 1):
            uri = f"tutorials/{path.stem}_{number}.png"
            files.append(File.generated(config, uri, content=base64.b64decode(picture)))
    return files


if __name__ == "__main__":
    json.dump(run(Path(sys.argv[1])), sys.stdout)
