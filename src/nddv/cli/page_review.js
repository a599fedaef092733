"use strict";
// The review list: sort, filter, decide, keep the decisions in this browser, export them as CSV.
(() => {
  const section = document.getElementById("review");
  const list = section.querySelector("ol");
  const cards = [...list.children];
  const one = (name) => section.querySelector(`[name="${name}"]`);
  const said = (name, text) => { section.querySelector(`[data-say="${name}"]`).textContent = text; };
  const choices = ["keep", "fix", "drop"];
  let current = null; // the card that keys are about

  // Decisions by row. What is kept belongs to the table's content and its target.
  const key = `nddv decisions ${section.dataset.key}`;
  let decisions = {};
  let kept = true;
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "{}");
    for (const [row, entry] of Object.entries(found)) {
      if (choices.includes(entry?.decision)) {
        decisions[row] = { decision: entry.decision, label: String(entry.label ?? "") };
      }
    }
  } catch { kept = false; }
  const keep = () => {
    try { localStorage.setItem(key, JSON.stringify(decisions)); } catch { kept = false; }
    section.querySelector(".unkept").hidden = kept;
  };

  const isDecided = (card) => {
    const own = decisions[card.dataset.row];
    return own !== undefined && (own.decision !== "fix" || own.label.trim() !== "");
  };
  const show = (card) => {
    const own = decisions[card.dataset.row];
    for (const button of card.querySelectorAll("[data-choice]")) {
      button.setAttribute("aria-pressed", String(own?.decision === button.dataset.choice));
    }
    const label = card.querySelector(".new-label");
    label.hidden = own?.decision !== "fix";
    const input = label.querySelector("input");
    if (!label.hidden && input.value !== own.label) input.value = own.label;
    card.dataset.decision = isDecided(card) ? own.decision : "";
  };
  const count = () => {
    const decided = cards.filter(isDecided).length;
    said("progress", `${decided} of ${cards.length} decided`);
    section.querySelector("progress").value = decided;
    one("export").disabled = one("clear").disabled = decided === 0;
  };
  const decide = (card, choice) => {
    const row = card.dataset.row;
    if (decisions[row]?.decision === choice) delete decisions[row];
    else decisions[row] = { decision: choice, label: choice === "fix" ? card.dataset.suggested : "" };
    show(card);
    keep();
    count();
    if (decisions[row]?.decision === "fix" && decisions[row].label === "") card.querySelector("input").focus();
  };

  for (const card of cards) {
    for (const button of card.querySelectorAll("[data-choice]")) {
      button.addEventListener("click", () => decide(card, button.dataset.choice));
    }
    card.querySelector("input").addEventListener("input", (event) => {
      decisions[card.dataset.row].label = event.target.value;
      card.dataset.decision = isDecided(card) ? "fix" : "";
      keep();
      count();
    });
    card.addEventListener("focusin", () => { current = card; });
  }

  // Sorting and filters.
  const words = new Intl.Collator("en", { numeric: true });
  const order = {
    probability: (a, b) => b.dataset.probability - a.dataset.probability,
    row: (a, b) => a.dataset.row - b.dataset.row,
    given: (a, b) => words.compare(a.dataset.given, b.dataset.given),
    suggested: (a, b) => words.compare(a.dataset.suggested || a.dataset.given, b.dataset.suggested || b.dataset.given),
    value: (a, b) => a.dataset.value - b.dataset.value,
    typicality: (a, b) => a.dataset.typicality - b.dataset.typicality,
  };
  const arrange = () => {
    const sign = one("reverse").getAttribute("aria-pressed") === "true" ? -1 : 1;
    const compare = order[one("sort").value];
    list.append(...[...cards].sort((a, b) => sign * compare(a, b)));
  };
  const filter = () => {
    const [label, fault, state] = ["given", "fault", "state"].map((name) => one(name).value);
    const least = Number(one("least").value);
    for (const card of cards) {
      const open = card.dataset.decision === "";
      card.hidden = (label !== "" && card.dataset.given !== label)
        || (fault !== "" && !card.dataset.faults.split(" ").includes(fault))
        || Number(card.dataset.probability) < least
        || (state === "open" && !open) || (state === "decided" && open);
    }
    const shown = cards.filter((card) => !card.hidden).length;
    said("shown", shown === cards.length ? `All ${shown} rows of the list are shown.` : `${shown} of ${cards.length} rows of the list are shown.`);
  };
  one("sort").addEventListener("change", arrange);
  one("reverse").addEventListener("click", () => {
    const was = one("reverse").getAttribute("aria-pressed") === "true";
    one("reverse").setAttribute("aria-pressed", String(!was));
    arrange();
  });
  for (const name of ["given", "fault", "least", "state"]) one(name).addEventListener("change", filter);

  // Export: the decided rows in the order of the table.
  const quoted = (entry) => (/[",\r\n]/.test(entry) ? `"${entry.replaceAll('"', '""')}"` : entry);
  one("export").addEventListener("click", () => {
    const lines = cards.filter(isDecided).sort(order.row).map((card) => {
      const { row, given, suggested } = card.dataset;
      const { decision, label } = decisions[row];
      return [row, given, suggested || given, decision, decision === "fix" ? label.trim() : ""];
    });
    const text = [["row", "given", "suggested", "decision", "new_label"], ...lines]
      .map((line) => line.map(quoted).join(",") + "\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = section.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  one("clear").addEventListener("click", () => {
    if (!confirm("Forget all decisions on this page?")) return;
    for (const card of cards) delete decisions[card.dataset.row];
    cards.forEach(show);
    keep();
    count();
    filter();
  });

  // Keys: j and k move, 1, 2 and 3 decide.
  const move = (step) => {
    const shown = [...list.children].filter((card) => !card.hidden);
    if (shown.length === 0) return;
    const at = shown.indexOf(current);
    const next = shown[at < 0 ? 0 : Math.min(Math.max(at + step, 0), shown.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (current && !current.hidden && ["1", "2", "3"].includes(event.key)) decide(current, choices[event.key - 1]);
    else return;
    event.preventDefault();
  });

  section.querySelectorAll(".scripted").forEach((part) => { part.hidden = false; });
  keep();
  cards.forEach(show);
  arrange();
  filter();
  count();
})();
