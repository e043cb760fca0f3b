// The OpenAPI description as a page.

import { $, ask, el } from "./base.js";

const found = await ask("api/openapi.json");
$("api").append(el("p", {}, found.info.description), el("p", {}, el("a", { href: "api/openapi.json", download: "openapi.json" }, "openapi.json"), `, version ${found.info.version}`),
  ...Object.entries(found.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, entry]) => {
    const fields = entry.requestBody?.content["application/json"].schema.properties;
    return el("section", { class: "operation" }, el("h2", {}, el("code", {}, `${method.toUpperCase()} ${path.slice(1)}`)), el("p", {}, entry.summary),
      fields ? el("p", { class: "quiet small" }, "JSON: ", Object.entries(fields).map(([name, schema], k) => [k ? ", " : "", el("code", {}, name), ` ${schema.type || schema.enum?.join(" | ") || ""}`])) : null);
  })));
