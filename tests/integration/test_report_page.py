"""The page of the report in a real browser, on a desk and on a phone.

The page is put into a frame of a given width: a window of chromium is never narrower than 500
pixels. The frame's parent uses the page as a reader would, and writes what it sees into its own
document, which chromium then prints.
"""

import html
import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from nddv.reporting.registry import Table
from nddv.support.files import write_csv, write_json

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = {"desk": 1280, "phone": 390}

HARNESS = """<!DOCTYPE html>
<iframe style="border: 0; width: WIDTHpx; height: 900px"></iframe><pre id="seen"></pre>
<script>
const frame = document.querySelector("iframe");
const all = (document, selector) => [...document.querySelectorAll(selector)];
const texts = (document, selector) => all(document, selector).map((x) => x.textContent.trim());
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  const seen = {
    inner: view.innerWidth,
    width: page.documentElement.scrollWidth,
    pictures: [...page.images].map((image) => image.naturalWidth),
    links: all(page, "a[href]").map((link) => link.getAttribute("href")),
    ids: all(page, "[id]").map((element) => element.id),
    headings: texts(page, "h2"),
    sorted: [], aria: [], kept: [], backgrounds: [],
  };
  const head = page.querySelector("#table-wide th:nth-child(2)");
  for (let click = 0; head && click < 3; click++) {
    head.querySelector("button").click();
    seen.sorted.push(texts(page, "#table-wide td:nth-child(2)"));
    seen.aria.push(head.getAttribute("aria-sort"));
  }
  for (const chip of all(page, ".chip")) {
    chip.click();
    const rows = all(page, ".claims tbody tr");
    seen.kept.push(rows.filter((row) => row.getClientRects().length).length);
  }
  for (let click = 0; click < 2; click++) {
    page.getElementById("theme").click();
    seen.backgrounds.push(view.getComputedStyle(page.body).backgroundColor);
  }
  document.getElementById("seen").textContent = JSON.stringify(seen);
});
frame.src = "PAGE";
</script>
"""


class Inputs(list):
    """The inputs of a job: files one after the other, and by name."""

    def __init__(self, **named):
        lists = (files if isinstance(files, list) else [files] for files in named.values())
        super().__init__(str(file) for files in lists for file in files)
        self.get = named.get
        self.__dict__.update(named)


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """A function that opens a page at a width: what is seen, and what the console says."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    folder = tmp_path_factory.mktemp("browser")

    def browse(page: Path, width: int):
        harness = folder / "harness.html"
        content = HARNESS.replace("WIDTH", str(width)).replace("PAGE", page.resolve().as_uri())
        harness.write_text(content, encoding="utf-8")
        done = subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions"),
                *("--no-first-run", "--allow-file-access-from-files", "--enable-logging=stderr"),
                *(f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"),
                *("--dump-dom", harness.as_uri()),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        seen = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
        assert seen, done.stdout
        assert seen[1], done.stderr
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return json.loads(html.unescape(seen[1])), console

    return browse


def problems(page: Path, seen, console) -> list[str]:
    """What is wrong with a page."""
    wrong = [f"console: {line}" for line in console]
    if seen["width"] > seen["inner"]:
        wrong.append(f"page of {seen['width']} pixels in a window of {seen['inner']}")
    wrong += [f"picture {i} does not load" for i, w in enumerate(seen["pictures"]) if not w]
    for link in seen["links"]:
        there = link[1:] in seen["ids"] if link[0] == "#" else (page.parent / link).exists()
        if not there:
            wrong.append(f"broken link {link}")
    return wrong


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with a table wider and longer than any screen, and a large picture."""
    reports = tmp_path_factory.mktemp("project") / "reports"
    (reports / "figures").mkdir(parents=True)
    rng = np.random.default_rng(100)
    means = [10.5, 9.25, *rng.uniform(11, 99, 27), np.nan]
    wide = pd.DataFrame({"method": ["a" * 60] * 30, "f1": means, "f1_sd": 0.12})
    for i in range(20):
        wide[f"c{i}"] = "0.123 ± 0.456"
    columns = {"method": "Method", "f1": "F1", **{f"c{i}": f"Column {i}" for i in range(20)}}
    unused = {"part": "", "function": "", "reads": {}}
    entry = Table(name="wide", title="A wide table", caption="Wide.", columns=columns, **unused)
    claim = {
        "id": "one",
        "claim": "Words " * 20 + "w" * 80,
        "where": "Section 6.2, tab:mislabeled_data_detection_n10000",
        "verdict": "partly",
        **{"verdict_released": "not applicable", "verdict_ours": "not run"},
        **{"ours": "nddv-path", "reason": "", "reason_released": "why", "reason_ours": "no file"},
        "note": "Read as: " + "n" * 90,
    }
    last = {**claim, "id": "three", "verdict": "not run"}
    case = {
        **{"claim": "one", "score": "paper", "method": "nddv-terminal", "check": 1, "note": ""},
        **{"outcome": "fails", "stands_for": "", "times": 1.0, "plus": 0.0},
        **{"left": 0.1, "left_sd": 0.01, "left_whose": "", "operator": ">=", "tolerance": 0.0},
        **{"right": 0.2, "right_sd": 0.02, "right_whose": "knn-shapley"},
    }
    frames = {
        "wide": wide,
        "claims": pd.DataFrame([claim, {**claim, "id": "two"}, last]),
        "claim_cases": pd.DataFrame(
            [{**case, "case": f"imagenet100@resnet50-torchvision, {i}"} for i in range(9)]
        ),
    }
    for name, frame in frames.items():
        write_csv(reports / f"tables/{name}.csv", frame)
        write_json(reports / f"records/{name}.json", {"notes": ["Note. " * 100]})
    Image.new("RGB", (2000, 900), "blue").save(reports / "figures/overview.png")
    contents = [{"table": "wide"}, {"figure": "overview"}, {"figure": "sensitivity"}]
    report = {
        "title": "A report " + "t" * 60,
        "about": "About.",
        "verdicts": {"title": "Verdicts", "introduction": "Claims."},
        "sections": [{"title": "Results", "introduction": "All.", "contents": contents}],
        "records": {"title": "Records", "introduction": "Versions."},
    }
    (reports / "report.yaml").write_text(yaml.safe_dump(report))
    inputs = {
        "report": reports / "report.yaml",
        "schema": ROOT / "workflow/schemas/report.schema.yaml",
        "tables": sorted((reports / "tables").iterdir()),
        "records": sorted((reports / "records").iterdir()),
        "figures": [reports / "figures/overview.png"],
    }
    provenance = {"config": "0" * 40, "seeds": [100]}
    snakemake = SimpleNamespace(
        input=Inputs(**inputs),
        params=SimpleNamespace(entries={"wide": entry}, provenance=provenance),
        output=Inputs(page=reports / "index.html", environment=reports / "environment.json"),
        log=[reports / "page.log"],
        resources={},
        rule="report_page",
    )
    script = str(ROOT / "workflow/scripts/report_page.py")
    runpy.run_path(script, init_globals={"snakemake": snakemake})
    return reports / "index.html"


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_the_page_fits_and_works(browse, page, width):
    seen, console = browse(page, width)
    assert seen["inner"] == width
    assert problems(page, seen, console) == []
    assert len(seen["pictures"]) == 1
    assert seen["headings"] == ["Verdicts", "Results", "Records"]
    ascending, descending, restored = seen["sorted"]
    assert ascending[:2] == ["9.25 ± 0.12", "10.50 ± 0.12"]  # as numbers, not as words
    assert ascending[-1] == descending[-1] == "—"  # what is missing is last either way
    means = [float(cell.split()[0]) for cell in descending[:-1]]
    assert means == sorted(means, reverse=True)
    assert restored[:2] == ["10.50 ± 0.12", "9.25 ± 0.12"]
    assert seen["aria"] == ["ascending", "descending", None]
    assert seen["kept"] == [3, 0, 2, 0, 1]  # all, reproduced, partly, not reproduced, not run
    assert len(set(seen["backgrounds"])) == 2


def test_what_is_wrong_with_a_page_is_noticed(browse, page):
    broken = page.with_name("broken.html")
    wrong = (
        '<script>console.error("boo")</script><img src="none.png" alt=""><a href="none.csv">x</a>'
        '<a href="#none">x</a><div style="width: 3000px">x</div></main>'
    )
    broken.write_text(page.read_text(encoding="utf-8").replace("</main>", wrong), encoding="utf-8")
    wrong = " ".join(problems(broken, *browse(broken, 390)))
    for word in (
        "boo",
        "picture 1",
        "broken link none.csv",
        "broken link #none",
        "in a window of 390",
    ):
        assert word in wrong


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_the_report_that_is_kept_fits_and_works(browse, width):
    kept = ROOT / "reports/index.html"
    if not kept.exists():
        pytest.skip("reports/index.html has not been made")
    seen, console = browse(kept, width)
    assert problems(kept, seen, console) == []
    assert kept.stat().st_size < 5e6
