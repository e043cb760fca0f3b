// Guidelines: Markdown, rendered as elements, never as HTML.

import { $, ask, el, state, toast } from "./base.js";
import { open } from "./dialogs.js";

/** Text with code, links, bold and italic. */
function inline(text) {
  const parts = [];
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|_([^_\s][^_]*)_|\[([^\]]*)\]\(([^()\s]+)\)|(https?:\/\/[^\s<>()]+)/g;
  let at = 0;
  for (const m of text.matchAll(pattern)) {
    parts.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1]) parts.push(el("code", {}, m[1]));
    else if (m[2]) parts.push(el("strong", {}, inline(m[2])));
    else if (m[3] || m[4]) parts.push(el("em", {}, inline(m[3] || m[4])));
    else {
      const target = m[6] || m[7];
      const safe = /^https?:\/\//i.test(target);
      parts.push(safe ? el("a", { href: target, target: "_blank", rel: "noopener noreferrer" }, m[5] || target) : m[0]);
    }
  }
  parts.push(text.slice(at));
  return parts;
}

/** Headings, lists, quotes, code and paragraphs. */
export function markdown(text) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const out = [];
  let k = 0;
  while (k < lines.length) {
    const line = lines[k];
    const heading = line.match(/^(#{1,6})\s+(.*)$/);
    const bullet = /^\s*([-*+]|\d+[.)])\s+/;
    if (!line.trim()) k += 1;
    else if (line.startsWith("```")) {
      const code = [];
      for (k += 1; k < lines.length && !lines[k].startsWith("```"); k += 1) code.push(lines[k]);
      k += 1;
      out.push(el("pre", { tabindex: 0 }, el("code", {}, code.join("\n"))));
    } else if (heading) { out.push(el(heading[1].length < 2 ? "h3" : "h4", { dir: "auto" }, inline(heading[2]))); k += 1; }
    else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) { out.push(el("hr")); k += 1; }
    else if (bullet.test(line)) {
      const items = [];
      const ordered = /^\s*\d/.test(line);
      for (; k < lines.length && lines[k].trim(); k += 1) {
        if (bullet.test(lines[k])) items.push([lines[k].replace(bullet, "")]);
        else items[items.length - 1].push(lines[k].trim());
      }
      out.push(el(ordered ? "ol" : "ul", {}, items.map((i) => el("li", { dir: "auto" }, inline(i.join(" "))))));
    } else if (line.startsWith(">")) {
      const quoted = [];
      for (; k < lines.length && lines[k].startsWith(">"); k += 1) quoted.push(lines[k].replace(/^>\s?/, ""));
      out.push(el("blockquote", {}, markdown(quoted.join("\n"))));
    } else {
      const words = [];
      for (; k < lines.length && lines[k].trim() && !/^(#{1,6}\s|>|```)/.test(lines[k]) && (words.length === 0 || !bullet.test(lines[k])); k += 1) words.push(lines[k].trim());
      out.push(el("p", { dir: "auto" }, inline(words.join(" "))));
    }
  }
  return out;
}

export async function guidelines() {
  let found;
  try { found = await ask("api/guidelines"); } catch (error) { toast(error.message); return; }
  const listed = state.classes.filter((c) => c.text);
  const read = () => open("Guidelines",
    el("div", { class: "guide" }, found.text.trim() ? markdown(found.text) : el("p", { class: "quiet" }, `No guidelines yet. They are kept in ${found.name}, beside the table.`),
      listed.length ? [el("h3", {}, "Classes"), el("dl", { class: "class-texts" }, listed.flatMap((c) => [el("dt", { dir: "auto" }, c.name), el("dd", { dir: "auto" }, inline(c.text))]))] : null),
    el("div", { class: "row end" }, el("button", { class: "button", id: "edit-guidelines", onclick: write }, "Edit")));
  function write() {
    const input = el("textarea", { class: "guide-text", id: "guide-text", rows: 16, "aria-label": "Guidelines, as Markdown", dir: "auto" });
    input.value = found.text;
    open("Guidelines", el("p", {}, `Markdown: # heading, - list, **bold**, [link](https://…). Saved in ${found.name}.`), input,
      el("div", { class: "row end" }, el("button", { class: "button", onclick: read }, "Cancel"),
        el("button", { class: "button primary", id: "save-guidelines", onclick: async () => {
          try { found = await ask("api/guidelines", { text: input.value, seen: found.seen }); read(); } catch (error) { toast(error.message); }
        } }, "Save")));
    input.focus();
  }
  read();
}

export function prepare() { $("open-guidelines").addEventListener("click", guidelines); }
