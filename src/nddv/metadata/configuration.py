"""``config/README.md``: the files of the configuration by their first words, keys by the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from nddv.metadata.markdown import table_lines

INTRODUCTION = """\
# Configuration

Written by `make metadata`, from the first words of each file and from
`workflow/schemas/config.schema.yaml`.

The workflow reads config.yaml, datasets.yaml, methods.yaml, and the encoders in
`src/nddv/problems/encoders/encoders.yaml`. Files that you give to `--configfile` change some keys
and leave the others; a list is replaced as a whole. A mistake is told in one line before any job
starts.

```sh
# all of the paper
snakemake --cores all
# for two cores, with nothing but a package index
snakemake --cores all --configfile config/config.yaml config/embedded.yaml
```

[docs/data.md](../docs/data.md) shows how to value your own table.
"""


def configuration_page(root: Path) -> str:
    """The text of config/README.md."""
    return "\n".join([INTRODUCTION, *_files(root), "", *_keys(root), ""])


def _files(root: Path) -> Iterator[str]:
    yield "## Files\n"
    files = sorted((root / "config").glob("*.yaml"))
    rows = [(f"`config/{path.name}`", first_words(path)) for path in files]
    rows.append(("`config/paper/`", "The numbers that the paper prints, a file for each table."))
    yield from table_lines(("file", "what it is"), rows)


def first_words(path: Path) -> str:
    """The first sentence of the comment that a file begins with."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("# "):
            break
        lines.append(line.removeprefix("# "))
    return " ".join(lines).partition(". ")[0].rstrip(":.") + "."


def _keys(root: Path) -> Iterator[str]:
    schema = yaml.safe_load((root / "workflow" / "schemas" / "config.schema.yaml").read_text())
    yield "## Keys\n"
    rows = [
        (f"`{name}`", ", ".join(f"`{key}`" for key in about.get("properties", ())), meaning)
        for name, about in schema["properties"].items()
        for meaning in [_meaning(about, schema)]
    ]
    yield from table_lines(("key", "below it", "meaning"), rows)
    yield ""
    yield "[The settings of every method](../docs/settings.md) and"
    yield "[the experiments](../docs/experiments.md) have pages of their own."


def _meaning(about: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The description of a key, or of the definition that it refers to."""
    if "description" in about:
        return str(about["description"])
    name = about.get("$ref", "").rpartition("/")[2]
    return str(schema["$defs"].get(name, {}).get("description", ""))
