"""What the page of the report shows: ``config/report.yaml``, read and checked.

Apart from the page, because the Snakefile checks this file before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nddv.reporting.catalogue.figures import FIGURES
from nddv.reporting.catalogue.tables import TABLES, detection_table
from nddv.reporting.claims import read_checked, repeated
from nddv.reporting.registry import Table
from nddv.support.schemas import ConfigurationError
from nddv.support.wording import pick


def find_table(tables: Mapping[str, Table], name: str) -> Table:
    """The entry of a table: one of a configuration, of the catalogue, or detection for any n."""
    n = name.removeprefix("detection_n")
    if name not in tables and n != name and n.isdigit():
        return detection_table(int(n))
    return pick({**TABLES, **tables}, name, "table")


def read_report(path: str | Path, schema_path: str | Path) -> dict[str, Any]:
    """Read what the page shows, validated by the schema; nothing may be shown twice."""
    content: dict[str, Any] = read_checked(path, schema_path)
    for kind in ("table", "figure"):
        if twice := repeated(shown(content, kind)):
            raise ConfigurationError(f"{path}: {kind} {twice} is shown twice")
    return content


def check_report(
    path: str | Path, schema_path: str | Path, tables: Mapping[str, Table]
) -> dict[str, Any]:
    """Read what the page shows; raise for a table or figure that no configuration makes.

    tables : those of the configuration, by name; the catalogue's are known.
    """
    content = read_report(path, schema_path)
    try:
        for name in shown(content, "figure"):
            pick(FIGURES, name, "figure")
        for name in [*shown(content, "table"), *read_by_findings(content)]:
            find_table(tables, name)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    return content


def shown(report: Mapping[str, Any], kind: str) -> list[str]:
    """The names of the tables (``"table"``) or figures (``"figure"``) of a report, in order."""
    items = [item for section in report["sections"] for item in section.get("contents", [])]
    return [item[kind] for item in items if kind in item]


def read_by_findings(report: Mapping[str, Any]) -> list[str]:
    """The names of the tables that the findings of a report read."""
    findings = report.get("findings", {}).get("contents", [])
    return [name for finding in findings for name in finding["tables"]]
