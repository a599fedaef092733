"""The documentation site: tutorials run, the strict build has no warning and fetches nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

import nddv

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOOKS = DOCS / "hooks"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.py"))
NO_WAY_OUT = "http://127.0.0.1:9"  # nobody listens there


def hook(name: str):
    spec = spec_from_file_location(f"{name}_hook", HOOKS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needs(*packages: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        pytest.skip(f"the extra docs is not installed: no {', '.join(missing)}")


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_draws(path):
    made = hook("tutorials").execute(path)
    assert made["pictures"]
    assert "```text" in made["page"]


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` does; what the tests above ran is not run again."""
    needs("mkdocs", "material", "mkdocstrings_handlers", "snakemake")
    folder = tmp_path_factory.mktemp("site")
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NO_WAY_OUT)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, **closed, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_every_page_of_the_contents_is_there(site):
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    names = re.findall(r"([\w/-]+)\.md$", text.partition("nav:")[2], flags=re.MULTILINE)
    assert len(names) > 20
    assert [name for name in names if not (site / f"{name}.html").exists()] == []
    kept = {path.stem for path in DOCS.glob("*.md")}
    assert kept <= set(names), "a document is not in the contents"


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site):
    loaded = re.compile(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
    pages = [page for page in site.rglob("*.html") if "reports/index" not in page.as_posix()]
    found = {page.name: loaded.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: links for name, links in found.items() if links} == {}


@pytest.mark.slow
def test_formulas_and_graphs_are_drawn(site):
    formulas = (site / "mathematics.html").read_text(encoding="utf-8")
    assert formulas.count('<svg class="formula"') > 30
    assert "arithmatex" not in formulas
    drawn = re.findall(r"<text [^>]*>(\w+)</text>", (site / "architecture.html").read_text())
    rooms = {path.parent.name for path in (ROOT / "src" / "nddv").glob("*/__init__.py")}
    assert rooms <= set(drawn)
    assert {"fetch_dataset", "make_problems", "value_nddv", "table", "report_page"} <= set(drawn)


@pytest.mark.slow
def test_the_report_leads_back_to_the_site(site):
    links = re.findall(r'href="(\.\./\w[^"#]*)', (site / "reports" / "index.html").read_text())
    assert links
    assert [link for link in links if not (site / "reports" / link).exists()] == []


@pytest.mark.slow
def test_tutorials_show_what_they_print_and_draw(site):
    for path in TUTORIALS:
        text = (site / "tutorials" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert 'class="output' in text or "output highlight" in text, path.stem
        pictures = re.findall(r'src="(\w+\.png)"', text)
        assert pictures, path.stem
        assert all((site / "tutorials" / picture).stat().st_size > 5000 for picture in pictures)


def test_the_reference_has_every_public_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    homes = [f"{getattr(nddv, name).__module__}.{name}" for name in nddv.__all__]
    assert [home for home in homes if f"::: {home}\n" not in text] == []


def test_tutorials_are_in_the_contents():
    names = set(re.findall(r"tutorials/(\w+)\.md", (ROOT / "mkdocs.yml").read_text()))
    assert names == {path.stem for path in TUTORIALS}
    assert len(names) >= 5


def test_words_and_code_of_a_tutorial_are_told_apart():
    source = "# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nprint(1)\n"
    cells = hook("tutorials").cells(source)
    assert cells == [(True, "# # Title\n#\n# Words."), (False, "print(1)")]


def test_a_graph_is_drawn_without_the_lines_that_others_make_plain():
    drawings = hook("drawings")
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a"}, "e": {"c", "d"}}
    assert drawings.direct(graph) == {**graph, "c": {"b"}}
    columns = drawings.columns(drawings.direct(graph))
    assert [set(column) for column in columns] == [{"a"}, {"b", "a>d>1"}, {"c", "d"}, {"e"}]
    assert drawings.draw(graph, {}).count("<rect") == 5


def test_a_formula_is_drawn_on_the_line():
    needs("matplotlib")
    formulas = hook("formulas")
    drawn = formulas.on_page_content(r'<span class="arithmatex">\(x_i\)</span>', None, None, None)
    assert drawn.startswith('<svg class="formula" role="img" aria-label="x_i"')
    assert "vertical-align:-" in drawn


def test_the_settings_of_the_site_name_what_exists():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    assert [name for name in settings["hooks"] if not (ROOT / name).exists()] == []
    assert settings["theme"]["font"] is False
    assert json.dumps(settings).find("http") < 0
