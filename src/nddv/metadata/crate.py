"""RO-Crates: the workflow as a research object, and a finished run of it.

    python -m nddv.metadata.crate                 # of the run in this folder
    python -m nddv.metadata.crate results/quick   # of a run in another folder

A run becomes one archive, ``results/crate.zip`` of its folder, by the profile Workflow Run Crate:
the workflow, its configuration, the report, what the data sets were, versions of the software, and
the SHA-256 of every result. The results themselves stay where they are: ``sha256sum -c`` compares
them with the list. A run that is damaged is refused.
"""

from __future__ import annotations

import argparse
import hashlib
import mimetypes
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nddv.metadata.citation import SPDX, agent, read_citation
from nddv.metadata.environment import read_environment
from nddv.support.files import atomic_write, read_json
from nddv.support.integrity import CHECKSUMS, RESULTS, check_all

SPECIFICATION = "1.1"  # of RO-Crate; the profiles of workflows and of runs are based on it
PROFILES = "https://w3id.org/ro/wfrun/"
PROFILE_VERSION = "0.5"
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"

WORKFLOW = "workflow/Snakefile"
PICTURE = "images/rulegraph.svg"
FOLDERS = {
    "config": "Configuration: the experiment, data sets, methods, claims, what the report shows.",
    "workflow/rules": "The rules, by stage.",
    "workflow/scripts": "What the rules run: a few lines each, which call the library.",
    "workflow/schemas": "What the configuration may say.",
    "workflow/report": "Words of Snakemake's own report.",
    "src": "The library that the rules call.",
    "envs": "Environments of the rules, for conda.",
    "profiles": "How to run: on this machine, or on a cluster.",
}
FILES = {
    "Snakefile": "The workflow: configuration, rules, targets.",
    "README.md": "What the project is, and how to begin.",
    "LICENSE": "Terms of use.",
    "CITATION.cff": "How to cite it.",
    "requirements.lock": "The versions of all packages that were tested.",
}
LISTING = "results.sha256"
CRATE = "results/crate.zip"


def workflow_crate(root: Path) -> Any:
    """The crate of the workflow, a ``rocrate.rocrate.ROCrate``; the project's folder is its root.

    Only what it says is asked of it; nothing is copied.
    """
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

    citation = read_citation(root)
    crate = ROCrate(version=SPECIFICATION)
    crate.name, crate.description = citation["title"], citation["abstract"]
    crate.root_dataset["datePublished"] = citation["date-released"].isoformat()
    crate.root_dataset["version"] = citation["version"]
    crate.keywords = ", ".join(citation["keywords"])
    name = {"@type": "CreativeWork", "name": citation["license"]}
    terms = crate.add(ContextEntity(crate, SPDX + citation["license"], name))
    crate.license = terms
    agents = [
        crate.add(ContextEntity(crate, f"#author-{i}", agent(author)))
        for i, author in enumerate(citation["authors"], 1)
    ]
    authors = agents if len(agents) > 1 else agents[0]
    crate.creator = authors
    crate.root_dataset["author"] = authors
    main = crate.add_workflow(
        root / WORKFLOW,
        WORKFLOW,
        main=True,
        lang="snakemake",
        properties={"name": citation["title"], "version": citation["version"], **_format(WORKFLOW)},
    )
    main["license"], main["creator"] = terms, authors
    main["conformsTo"] = {"@id": BIOSCHEMAS}
    image = {"@type": ["File", "ImageObject"], "name": "Rules of the workflow", **_format(PICTURE)}
    picture = crate.add_file(root / PICTURE, PICTURE, properties=image)
    picture["about"], main["image"] = main, picture
    for path, text in FILES.items():
        crate.add_file(root / path, path, properties={"description": text, **_format(path)})
    crate.get("README.md")["about"] = crate.root_dataset
    for path, text in FOLDERS.items():
        crate.add_directory(root / path, path, properties={"name": path, "description": text})
    return crate


def workflow_metadata(root: Path) -> dict[str, Any]:
    """The content of ro-crate-metadata.json of the workflow."""
    content: dict[str, Any] = workflow_crate(root).metadata.generate()
    return content


# ------------------------------------------------------------------ a run


def write_run_crate(root: Path, run: Path) -> tuple[Path, str]:
    """Write the archive of a finished run; returns its path, and what was checked.

    Raises FileNotFoundError if there is no report yet, ValueError if a result is damaged.
    """
    report = sorted(path for path in (run / "reports").rglob("[!.]*") if path.is_file())
    if not (run / RESULTS / CHECKSUMS).exists() or not report:
        raise FileNotFoundError(f"{run} has no results with checksums and a report: run it first")
    damaged, summary = check_all(run)
    if damaged:
        raise ValueError("\n".join([*damaged, summary]))
    with tempfile.TemporaryDirectory() as name, atomic_write(run / CRATE) as archive:
        folder = Path(name)
        for path in FOLDERS:
            shutil.copytree(
                root / path, folder / path, ignore=shutil.ignore_patterns("__pycache__")
            )
        for path in (*FILES, WORKFLOW, PICTURE):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / path, folder / path)
        (folder / LISTING).write_text(_listing(run), encoding="utf-8")
        _run_crate(folder, run, report).write(Path(name, "crate"))
        # unlike rocrate's own archive this one has entries of folders, for which validators look
        shutil.make_archive(str(archive.with_suffix("")), "zip", Path(name, "crate"))
    return run / CRATE, summary


def _run_crate(folder: Path, run: Path, report: Sequence[Path]) -> Any:
    """The crate of a run: ``folder`` has the workflow, ``run`` what it made."""
    from rocrate.model.contextentity import ContextEntity

    crate = workflow_crate(folder)

    def context(identifier: str, kind: str, **about: Any) -> Any:
        return crate.add(ContextEntity(crate, identifier, {"@type": kind, **about}))

    profiles = [
        context(
            f"{PROFILES}{name}/{PROFILE_VERSION}",
            "CreativeWork",
            name=f"{name.capitalize()} Run Crate",
            version=PROFILE_VERSION,
        )
        for name in ("process", "workflow")
    ]
    workflow_profile = context(
        "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
        "CreativeWork",
        name="Workflow RO-Crate",
        version="1.0",
    )
    crate.root_dataset["conformsTo"] = [*profiles, workflow_profile]
    listing = {"name": "SHA-256 of every result", "encodingFormat": "text/plain"}
    results = [crate.add_file(folder / LISTING, LISTING, properties=listing)]
    for path in report:
        name = path.relative_to(run).as_posix()
        about = {"name": path.name, **_format(name), **_checksum(path)}
        results.append(crate.add_file(path, name, properties=about))
    inputs = [crate.get("config/"), *(context(*one[:2], **one[2]) for one in _data(run))]
    software = [
        context(f"#{name}", "SoftwareApplication", name=name, version=version)
        for name, version in _versions(run).items()
    ]
    crate.mainEntity["softwareRequirements"] = software
    times = sorted(path.stat().st_mtime for path in (run / RESULTS / CHECKSUMS).rglob("*.json"))
    start, end = (
        datetime.fromtimestamp(t, UTC).isoformat(timespec="seconds") for t in (times[0], times[-1])
    )
    settings = {
        key: value
        for key, value in read_environment(run).items()
        if key in ("configuration", "seeds", "machine")
    }
    told = "; ".join(f"{key}: {value}" for key, value in settings.items())
    crate.add_action(
        crate.mainEntity,
        identifier="#run",
        object=inputs,
        result=results,
        properties={
            "name": f"A run of {crate.name}",
            "description": f"{told or 'machine and configuration were not recorded'}. Times are "
            "those of the first and of the last result.",
            "startTime": start,
            "endTime": end,
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )["agent"] = crate.creator
    crate.root_dataset["mentions"] = crate.get("#run")
    return crate


def _listing(run: Path) -> str:
    """The checksums of all results that are there, as ``sha256sum`` writes them."""
    kept = run / RESULTS / CHECKSUMS
    lines = []
    for record in sorted(kept.rglob("[!.]*.json")):
        path = Path(RESULTS, record.relative_to(kept).with_suffix(""))
        if (run / path).exists():
            lines.append(f"{read_json(record)['sha256']}  {path.as_posix()}\n")
    return "".join(lines)


def _data(run: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The data sets of a run: where their files came from, and their checksums."""
    for path in sorted((run / RESULTS / "data").glob("*/files.json")):
        for what, fetched in read_json(path).items():
            record = fetched["record"]
            about = {"name": f"{path.parent.name}: {what}", "description": record["where"]}
            if record.get("sha256"):
                about |= {"sha256": record["sha256"], "contentSize": str(record["bytes"])}
            yield f"#{path.parent.name}-{what}", "CreativeWork", about


def _versions(run: Path) -> dict[str, str]:
    """Versions of the software, from the records of values; several of one package are listed."""
    found: dict[str, set[str]] = {}
    for path in (run / RESULTS / "values").rglob("[!.]*.json"):
        for name, version in read_json(path).get("versions", {}).items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(of)) for name, of in sorted(found.items())}


def _checksum(path: Path) -> dict[str, str]:
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "contentSize": str(len(content))}


def _format(path: str) -> dict[str, str]:
    known = {".md": "text/markdown", ".cff": "application/yaml", ".svg": "image/svg+xml"}
    guessed = known.get(Path(path).suffix) or mimetypes.guess_type(path)[0] or "text/plain"
    return {"encodingFormat": guessed}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the crate of a run and say where it is."""
    parser = argparse.ArgumentParser(prog="python -m nddv.metadata.crate", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("run", nargs="?", default=".", help="folder of the run (default: this one)")
    try:
        path, summary = write_run_crate(Path(), Path(parser.parse_args(arguments).run))
    except ImportError:
        print("crate: rocrate is not installed; `make crate` installs it", file=sys.stderr)
        return 2
    except (FileNotFoundError, ValueError) as error:
        print(f"crate: {error}", file=sys.stderr)
        return 2
    print(f"{summary}\nThe crate: {path.absolute()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
