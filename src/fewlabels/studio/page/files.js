// Export, and import in two steps: what a file would change, then one action.

import { $, ask, chip, el, newKey, plural, state, toast } from "./base.js";
import { open } from "./dialogs.js";

const FILES = [
  ["table", "The table", "the same rows and columns, plus label, confidence and source"],
  ["model", "The model", "to label new rows with fewlabels predict"],
  ["report", "The report", "one HTML page about labels and errors"],
  ["labels", "The labels", "a CSV of the labelled rows, for fewlabels merge"],
];
const OTHERS = [
  ["labels-parquet", "Parquet", "the labelled rows"],
  ["labels-jsonl", "JSON lines", "the labelled rows"],
  ["huggingface", "Hugging Face", "a dataset folder, zipped"],
  ["label-studio", "Label Studio", "JSON with annotations and predictions"],
  ["label-studio-csv", "Label Studio CSV", "the labelled rows only"],
];

export function files() {
  const input = el("input", { type: "file", id: "import-file", class: "visually-hidden", tabindex: -1, "aria-label": "File with labels", accept: ".json,.csv,.tsv,.jsonl,.xlsx,.parquet", onchange: () => input.files[0] && upload(input.files[0]) });
  const button = ([what, name, text]) => el("button", { class: "file", "data-what": what, onclick: (event) => save(what, event.currentTarget) }, el("b", {}, name), el("small", {}, text));
  open("Export and import",
    el("p", {}, `${state.name} itself never changes. Labels are saved in ${state.store}.`),
    el("div", { class: "files" }, FILES.map(button)),
    el("h3", {}, "The labels, in other formats"),
    el("div", { class: "files three" }, OTHERS.map(button)),
    el("h3", {}, "Labels from elsewhere"),
    el("p", { class: "quiet small" }, "A table with a label column, or JSON or CSV from Label Studio. Rows are matched by number and content. You see what would change before anything does."),
    input, el("button", { class: "button", disabled: !state.writes, onclick: () => input.click() }, "Choose a file"),
    el("p", { id: "import-result", role: "status" }));
}

async function save(what, button) {
  const note = button.querySelector("small");
  const text = note.textContent;
  button.disabled = true;
  note.textContent = "preparing…";
  try {
    const answer = await ask("api/export", { what });
    const name = JSON.parse(answer.headers.get("x-file-name"));
    const link = el("a", { href: URL.createObjectURL(await answer.blob()), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    note.textContent = `Saved as ${name}`;
  } catch (error) { note.textContent = text; toast(error.message); }
  button.disabled = false;
}

async function upload(file) {
  const result = $("import-result");
  result.textContent = "reading…";
  try {
    const answer = await fetch(`api/import?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
    const plan = await answer.json();
    if (!answer.ok) throw new Error(plan.error);
    preview(plan);
  } catch (error) { result.textContent = error.message; }
}

function preview(plan) {
  const fresh = plan.classes.filter((c) => !c.known);
  let overwrite = false;
  const button = el("button", { class: "button primary", id: "import-apply", onclick: () => apply(plan, overwrite) });
  const count = () => {
    const n = plan.new + (overwrite ? plan.changed : 0);
    button.textContent = n ? `Import ${plural(n, "label")}` : "Nothing to import";
    button.disabled = !n;
  };
  const fact = (n, text, extra) => el("li", {}, el("b", { class: "number" }, n.toLocaleString("en")), el("span", {}, text, extra || ""));
  const choice = (value, text) => el("label", { class: "choice" }, el("input", { type: "radio", name: "overwrite", checked: value === overwrite, onchange: () => { overwrite = value; count(); } }), el("span", {}, text));
  count();
  open(`Import ${plan.name}`,
    el("ul", { class: "facts" },
      fact(plan.new, plan.new === 1 ? "new label" : "new labels"), fact(plan.same, "already there"),
      fact(plan.changed, `${plan.changed === 1 ? "row has" : "rows have"} another label here`, plan.by_hand ? `, ${plan.by_hand.toLocaleString("en")} of them given by hand` : ""),
      plan.n_problems ? fact(plan.n_problems, `left out because of ${plan.n_problems === 1 ? "a problem" : "problems"}`) : null),
    fresh.length ? el("div", {}, el("h3", {}, `${plural(fresh.length, "class", "classes")} not known here yet`), el("p", { class: "chips" }, fresh.slice(0, 40).map((c) => el("span", { class: "tag", dir: "auto" }, `${c.name} (${c.count})`)))) : null,
    plan.changed ? el("fieldset", {}, el("legend", {}, "Rows with another label"), choice(false, "Keep the labels that are here"), choice(true, `Replace ${plural(plan.changed, "label")}`),
      el("div", { class: "examples", tabindex: 0, role: "region", "aria-label": "Rows with another label" }, el("table", {}, el("thead", {}, el("tr", {}, ["Row", "Here", "In the file"].map((t) => el("th", { scope: "col" }, t)))),
        el("tbody", {}, plan.examples.map((e) => el("tr", {}, el("td", {}, String(e.row + 1)), el("td", {}, chip(e.now), e.by_hand ? el("small", { class: "quiet" }, " by hand") : null), el("td", {}, chip(e.then)))))),
      plan.changed > plan.examples.length ? el("p", { class: "quiet small" }, `and ${(plan.changed - plan.examples.length).toLocaleString("en")} more`) : null)) : null,
    plan.n_problems ? el("details", {}, el("summary", {}, plural(plan.n_problems, "problem")), el("ul", { class: "small" }, plan.problems.map((p) => el("li", { dir: "auto" }, p)))) : null,
    el("div", { class: "row end" }, el("button", { class: "button", onclick: files }, "Cancel"), button));
}

async function apply(plan, overwrite) {
  try {
    const answer = await ask("api/import/apply", { plan: plan.plan, overwrite, key: newKey() });
    const { imported, name, ...rest } = answer;
    Object.assign(state, rest);
    files();
    $("import-result").textContent = `${plural(imported, "label")} imported from ${name}. Undo takes all of them back at once.`;
  } catch (error) { toast(error.message); }
}

export function prepare() {
  $("open-files").addEventListener("click", files);
}
