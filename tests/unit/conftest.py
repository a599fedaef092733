"""What the tests of tables share."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from nddv.reporting.writing import write_table

PROVENANCE = {"config": "abc123", "seeds": [100, 101], "corrupt_valid": False}


@pytest.fixture
def written(tmp_path):
    """A function that writes a table, and gives its numbers, its Markdown and its record."""

    def write(entry, result, provenance=PROVENANCE):
        paths = [tmp_path / f"{entry.name}.{suffix}" for suffix in ("csv", "md", "json")]
        write_table(entry, result, provenance, *paths)
        csv, markdown, record = paths
        return pd.read_csv(csv), markdown.read_text(), json.loads(record.read_text())

    return write
