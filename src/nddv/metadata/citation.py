"""CITATION.cff in the words of CodeMeta and of Zenodo.

``cffconvert`` would do this, but it needs an older jsonschema than Snakemake.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

SPDX = "https://spdx.org/licenses/"


def read_citation(root: Path) -> dict[str, Any]:
    """The content of CITATION.cff."""
    content: dict[str, Any] = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    return content


def read_project(root: Path) -> dict[str, Any]:
    """The table ``project`` of pyproject.toml."""
    content = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project: dict[str, Any] = content["project"]
    return project


def cited(work: Mapping[str, Any]) -> str:
    """A reference of CITATION.cff as one line."""
    names = [f"{one['given-names']} {one['family-names']}" for one in work["authors"]]
    return f"{', '.join(names[:-1])} and {names[-1]} ({work['year']}), {work['title']}"


def codemeta(root: Path) -> dict[str, Any]:
    """The content of codemeta.json."""
    citation, project = read_citation(root), read_project(root)
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "identifier": project["name"],
        "name": citation["title"],
        "description": citation["abstract"],
        "author": [agent(one) for one in citation["authors"]],
        "keywords": citation["keywords"],
        "version": citation["version"],
        "datePublished": citation["date-released"].isoformat(),
        "license": SPDX + citation["license"],
        "programmingLanguage": f"Python {project['requires-python']}",
        "softwareRequirements": project["dependencies"],
        "referencePublication": [_article(one) for one in citation["references"]],
    }


def zenodo(root: Path) -> dict[str, Any]:
    """The content of .zenodo.json."""
    citation = read_citation(root)
    return {
        "upload_type": citation["type"],
        "title": citation["title"],
        "description": citation["abstract"],
        "creators": [{"name": _name(one)} for one in citation["authors"]],
        "keywords": citation["keywords"],
        "version": citation["version"],
        "publication_date": citation["date-released"].isoformat(),
        "license": {"id": citation["license"]},
        "references": [cited(one) for one in citation["references"]],
    }


def agent(author: Mapping[str, str]) -> dict[str, str]:
    """An author of CITATION.cff in the words of schema.org."""
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    names = {"givenName": author["given-names"], "familyName": author["family-names"]}
    return {"@type": "Person", **names}


def _name(author: Mapping[str, str]) -> str:
    return author.get("name") or f"{author['family-names']}, {author['given-names']}"


def _article(work: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "ScholarlyArticle",
        "name": work["title"],
        "author": [agent(one) for one in work["authors"]],
        "datePublished": str(work["year"]),
    }
