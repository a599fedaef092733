"""Follow a document: run its Python blocks and its `nddv` commands in order, in one process.

``python follow.py DOCUMENT`` does so in the current folder, after putting the files there that the
examples speak of. It prints, as JSON, what each block printed. Encoders are small stand-ins.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"^```(\w+)[^\n]*\n(.*?)^```\n(?:\n*^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL
)
SHELL = ("sh", "bash")


class Block(NamedTuple):
    """A block of code, and the block of text right below it: what it prints."""

    language: str
    code: str
    printed: str


def blocks(document: Path) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(document.read_text(encoding="utf-8"))]


def commands(code: str) -> list[list[str]]:
    """The commands of a shell block, in words; comments are left out."""
    lines = code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def make_world() -> dict:
    """The files and names that the examples speak of."""
    import media
    import numpy as np
    import pandas as pd
    import pytest
    from sklearn.datasets import load_breast_cancer

    rng = np.random.default_rng(0)
    media.use_small_encoders(Path.cwd(), pytest.MonkeyPatch())
    cancer = load_breast_cancer(as_frame=True)
    table = cancer.data.iloc[:, :10].assign(label=cancer.target_names[cancer.target])[:300]
    wrong = rng.choice(len(table), 15, replace=False)
    there = table["label"].iloc[wrong] == "benign"
    table.loc[wrong, "label"] = np.where(there, "malignant", "benign")
    table.to_csv("data.csv", index=False)
    cancer.data.iloc[300:320, :10].to_csv("new.csv", index=False)

    X = rng.normal(size=(120, 5))
    y = (X[:, 0] > 0).astype(int)
    np.save("features.npy", X[:100].astype(np.float32))
    pd.DataFrame(X).assign(label=y, key=range(120)).to_csv("large.csv", index=False)
    texts = ["a b a" if label else "b c" for label in y]
    words = [f"{text} {number}" for number, text in enumerate(texts)]
    pd.DataFrame({"review": words, "stars": y, "pages": X[:, 1]}).to_csv("reviews.csv", index=False)
    paths = []
    for number, label in enumerate(y[:60]):
        path = Path("photos", f"class{label}", f"{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(media.picture_bytes((200 * int(label), number, 100)))
        paths.append(path.as_posix())
    pd.DataFrame({"path": paths, "label": y[:60]}).to_csv("pictures.csv", index=False)
    parts = {"X": X[:100], "y": y[:100], "X_new": X[100:], "y_new": y[100:], "texts": texts[:100]}
    sides = {f"{name}_{side}": parts[f"{name}_new"] for name in "Xy" for side in ("valid", "meta")}
    return {**parts, **sides, "np": np}


def run_command(words: list[str]) -> None:
    """Run a command of the library as the shell would."""
    from nddv.cli import main

    try:
        if words[0] == "nddv":
            status = main(words[1:])
        else:
            sys.argv = words[2:]
            status = runpy.run_module(words[2], run_name="__main__") and 0
    except SystemExit as end:
        status = end.code
    assert not status, f"{shlex.join(words)} ended with {status}"


def is_run_here(words: list[str]) -> bool:
    """Whether a command is one of the library."""
    return words[0] == "nddv" or words[:2] == ["python", "-m"]


def follow(document: Path) -> list[str]:
    names = make_world()
    said = []
    for block in blocks(document):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.language == "python":
                exec(compile(block.code, document.name, "exec"), names)
            elif block.language in SHELL:
                for words in filter(is_run_here, commands(block.code)):
                    run_command(words)
        said.append(printed.getvalue())
    return said


def followed(document: Path, folder: Path, library: Path) -> list[str]:
    """What the blocks of a document print, with a library, in a folder."""
    done = subprocess.run(
        [sys.executable, __file__, document],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(library), "NDDV_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    json.dump(follow(Path(sys.argv[1])), sys.stdout)
