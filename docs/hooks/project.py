"""Files of the project in the site: pages link to sources, reports and settings where these lie.

README.md is the first page. A Markdown file outside of docs/ that a page links to becomes a page, a
text becomes a page that shows it, and anything else is copied. So no text exists twice.
"""

from __future__ import annotations

import re
import shutil
from os.path import relpath
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
LANGUAGES = {".py": "python", ".smk": "python", ".yaml": "yaml", ".cff": "yaml", ".toml": "toml"}
LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=[)#])")
NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n\n"


def address(path: Path) -> str:
    """Where a file of the project stands among the sources of the site."""
    if path == ROOT / "README.md":
        return "index.md"
    if path.is_relative_to(DOCS):
        name = path.relative_to(DOCS).as_posix()
        return re.sub(r"^(tutorials/\w+)\.py$", r"\1.md", name)
    name = path.relative_to(ROOT).as_posix()
    return f"{name}.md" if is_text(path) else name


def is_text(path: Path) -> bool:
    """Whether a file is shown as a page of its own."""
    return path.suffix in LANGUAGES or (path.parent == ROOT and not path.suffix)


def linked(text: str, folder: Path) -> list[Path]:
    """Files outside of docs/ that a text of a folder links to."""
    names = [name for name in LINK.findall(text) if "://" not in name]
    paths = [(folder / name).resolve() for name in names]
    return [p for p in paths if p.is_file() and not p.is_relative_to(DOCS)]


def on_files(files: Files, config: Any) -> Files:
    """Add the three pages of the folder above, and what any page links to."""
    sources = [file.abs_src_path for file in files.documentation_pages()]
    waiting = [ROOT / name for name in PAGES]
    for source in [*map(Path, filter(None, sources)), *(DOCS / "tutorials").glob("*.py")]:
        waiting += linked(source.read_text(encoding="utf-8"), source.parent)
    seen = set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        made = {"abs_src_path": str(path)}
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            waiting += linked(text, path.parent)
            # numbers of reports would crowd the results of a search
            made = {"content": text if path.parent == ROOT else NOT_SEARCHED + text}
        elif is_text(path):
            title = path.relative_to(ROOT).as_posix()
            code = path.read_text(encoding="utf-8")
            language = LANGUAGES.get(path.suffix, "text")
            made = {"content": f"{NOT_SEARCHED}# {title}\n\n````{language}\n{code}\n````\n"}
        file = File.generated(config, address(path), **made)
        if path.name == "README.md" and path.parent != ROOT:
            file.dest_uri = address(path).replace(".md", ".html")  # beside an index.html
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links that lead to a file of the project lead to its page."""
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]  # the tabs above have it
    inside = page.file.generated_by is None or uri.startswith("tutorials/")
    here = DOCS / uri if inside else ROOT / ("README.md" if uri == "index.md" else uri)

    def lead(match: re.Match[str]) -> str:
        path = (here.parent / match[0]).resolve()
        if "://" in match[0] or not path.is_relative_to(ROOT) or not path.is_file():
            return match[0]  # mkdocs says what is wrong with it
        return relpath(address(path), Path(uri).parent)

    return LINK.sub(lead, markdown)


def on_post_build(config: Any) -> None:
    """The report works as a whole, with the files that it links to."""
    reports = Path(config.site_dir) / "reports"
    shutil.copytree(ROOT / "reports", reports, dirs_exist_ok=True)
    page = reports / "index.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r'"\.\./docs/(\w+)\.md', r'"../\1.html', text), encoding="utf-8")
