"""The review list of the page in a real browser, on a desk and on a phone.

The page is in a frame; its parent uses it as a person would, and writes down what it sees.
"""

import contextlib
import csv
import html
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from report_pages import make_page, make_table

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-extensions", "--allow-file-access-from-files", "--enable-logging=stderr"),
    *("--window-size=1400,1000", "--hide-scrollbars", "--virtual-time-budget=20000"),
)
PATIENCE = 600  # fifths of a second
LABEL = 'a "b", <c>'  # needs quotes in a CSV file

HARNESS = """<!DOCTYPE html>
<iframe style="border: 0; width: WIDTHpx; height: 900px"></iframe><pre id="seen"></pre>
<script>
const frame = document.querySelector("iframe"), seen = {};
const page = () => frame.contentDocument;
const all = (selector) => [...page().querySelectorAll(selector)];
const isSeen = (element) => element.getClientRects().length > 0;
const shown = () => all(".card").filter(isSeen).map((c) => Number(c.dataset.row));
const control = (name) => page().querySelector(`[name="${name}"]`);
const choose = (name, value) => {
  control(name).value = value;
  control(name).dispatchEvent(new Event("change"));
};
const card = (row) => page().querySelector(`[data-row="${row}"]`);
const press = (key) => {
  page().activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
};
const click = (row, choice) => card(row).querySelector(`[data-choice="${choice}"]`).click();
const said = (name) => page().querySelector(`[data-say="${name}"]`).textContent;
const width = () => [frame.contentWindow.innerWidth, page().documentElement.scrollWidth];
const loaded = () => new Promise((done) => frame.addEventListener("load", done, { once: true }));
const exported = async () => {
  let blob;
  frame.contentWindow.URL.createObjectURL = (given) => { blob = given; return "#"; };
  control("export").click();
  return await blob.text();
};
const use = async () => {
  let ready = loaded();
  frame.src = "PAGE";
  await ready;
  seen.width = width();
  seen.hidden = all(".scripted").filter((part) => part.hidden).length;
  seen.unkept = !page().querySelector(".unkept").hidden;
  seen.first = shown();
  choose("sort", "row");
  seen.sorted = shown();
  control("reverse").click();
  seen.reversed = shown();
  control("reverse").click();
  choose("given", "yes");
  seen.given = shown();
  choose("given", "");
  choose("fault", "outlier");
  seen.outliers = shown();
  choose("fault", "");
  choose("least", "0.5");
  seen.likely = shown();
  seen.said = said("shown");
  choose("least", "0");
  choose("sort", "probability");
  seen.before = said("progress");
  seen.disabled = control("export").disabled;
  press("j"); // the first card
  seen.current = page().activeElement.dataset.row;
  press("2");
  press("j");
  press("1");
  press("k");
  seen.back = page().activeElement.dataset.row;
  click(3, "fix"); // an outlier has no suggested label: one must be named
  seen.unnamed = said("progress");
  const input = card(3).querySelector("input");
  seen.asked = page().activeElement === input;
  input.value = LABEL;
  input.dispatchEvent(new Event("input"));
  press("1"); // types into the field, and decides nothing
  click(2, "drop");
  click(2, "drop"); // undone
  seen.decided = said("progress");
  choose("state", "open");
  seen.open = shown();
  ready = loaded();
  frame.contentWindow.location.reload();
  await ready;
  seen.kept = said("progress");
  seen.pressed = all('[data-choice][aria-pressed="true"]')
    .map((button) => button.closest(".card").dataset.row + button.dataset.choice);
  seen.csv = await exported();
  seen.widthDecided = width();
  frame.contentWindow.confirm = () => true;
  control("clear").click();
  seen.cleared = said("progress");
};
use().catch((error) => { seen.error = String(error); })
  .finally(() => { document.getElementById("seen").textContent = JSON.stringify(seen); });
</script>
"""


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """A function that opens a page in a harness: what is seen, and what the console says."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")

    def browse(page: str, harness: str):
        folder = tmp_path_factory.mktemp("browser")
        (folder / "page.html").write_text(page, encoding="utf-8")
        address = (folder / "page.html").as_uri()
        (folder / "harness.html").write_text(harness.replace("PAGE", address), encoding="utf-8")
        command = [
            *(browser, *FLAGS, f"--user-data-dir={folder / 'profile'}"),
            *("--dump-dom", (folder / "harness.html").as_uri()),
        ]
        dom, said = folder / "dom.html", folder / "said.txt"
        with dom.open("w") as out, said.open("w") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
            try:  # chromium may hang when it has printed everything
                for _ in range(PATIENCE):
                    if process.poll() is not None or "</html>" in dom.read_text("utf-8")[-20:]:
                        break
                    time.sleep(0.2)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        console = [line for line in said.read_text("utf-8").splitlines() if "CONSOLE" in line]
        return dom.read_text("utf-8"), console

    return browse


def seen_in(dom: str):
    found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    assert found, dom
    assert found[1], dom
    return json.loads(html.unescape(found[1]))


def wide_table():
    """Words and names that are longer than a phone is wide."""
    names = {"n" * 80: np.resize(["w" * 200, "v"], 40), "text": ["some words " * 30] * 40}
    return make_table(**names)


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_rows_are_sorted_filtered_decided_kept_and_exported(browse, width):
    harness = HARNESS.replace("WIDTH", str(width)).replace("LABEL", json.dumps(LABEL))
    dom, console = browse(make_page(wide_table(), wrong=3), harness)
    seen = seen_in(dom)
    assert console == []
    assert "error" not in seen
    assert seen["width"] == seen["widthDecided"] == [width, width]  # nothing is wider
    assert (seen["hidden"], seen["unkept"]) == (0, False)

    assert seen["first"] == [1, 40, 2, 3]  # by probability
    assert seen["sorted"] == [1, 2, 3, 40]
    assert seen["reversed"] == [40, 3, 2, 1]
    assert seen["given"] == [1]
    assert seen["outliers"] == [3]
    assert seen["likely"] == [1, 2, 40]
    assert seen["said"] == "3 of 4 rows of the list are shown."

    assert (seen["before"], seen["disabled"]) == ("0 of 4 decided", True)
    assert (seen["current"], seen["back"]) == ("1", "1")
    assert (seen["unnamed"], seen["asked"]) == ("2 of 4 decided", True)
    assert seen["decided"] == "3 of 4 decided"
    assert seen["open"] == [2]
    assert seen["kept"] == "3 of 4 decided"
    assert sorted(seen["pressed"]) == ["1fix", "3fix", "40keep"]
    lines = list(csv.DictReader(io.StringIO(seen["csv"])))
    assert [tuple(line.values()) for line in lines] == [
        ("1", "yes", "no", "fix", "no"),
        ("3", "no", "no", "fix", LABEL),
        ("40", "no", "yes", "keep", ""),
    ]
    assert list(lines[0]) == ["row", "given", "suggested", "decision", "new_label"]
    assert seen["cleared"] == "0 of 4 decided"


def test_without_a_script_it_is_a_plain_list(browse):
    page = make_page()
    script = page.partition("<script>")[2].partition("</script>")[0]
    harness = """<!DOCTYPE html><iframe style="width: 1000px; height: 900px" src="PAGE"></iframe>
<pre id="seen"></pre><script>
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument;
  const visible = (selector) =>
    [...page.querySelectorAll(selector)].filter((x) => x.getClientRects().length).length;
  document.getElementById("seen").textContent = JSON.stringify(
    { cards: visible(".card"), buttons: visible("button"), selects: visible("select") });
});
</script>"""
    dom, _ = browse(page.replace(script, ""), harness)
    assert seen_in(dom) == {"cards": 3, "buttons": 0, "selects": 0}


def test_a_script_in_the_data_does_not_run(browse):
    attack = '</script><img src=x onerror="document.title=1"><script>document.title = 1</script>'
    table = make_table(**{attack: np.resize([attack, "b"], 40)})
    page = make_page(table)
    # even if escaping failed, the browser would run the page's own script alone
    broken = page.replace("<h1>", f"{attack}<h1>")
    harness = """<!DOCTYPE html><iframe src="PAGE"></iframe><pre id="seen"></pre><script>
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument;
  document.getElementById("seen").textContent = JSON.stringify(
    { title: page.title, decided: page.querySelector('[data-say="progress"]').textContent });
});
</script>"""
    for content, refused in ((page, False), (broken, True)):
        dom, console = browse(content, harness)
        assert seen_in(dom) == {"title": "Values of things.csv", "decided": "0 of 3 decided"}
        assert any("Content Security Policy" in line for line in console) == refused
