// The page's scripts as modules: joined as the package joins them, with what they export by name.
import { readFileSync } from "node:fs";

const STATIC = new URL("../../hsd_viz/views/static/", import.meta.url);

/** Files joined into one module, as hsd_viz/views/scripts.py joins them; `names` are what it gives out beside what it exports.
 * @param {string[]} files @param {string[]} [names] */
export function joined(files, names = []) {
  const source = files.map((name) => readFileSync(new URL(name, STATIC), "utf8")).join("\n") + (names.length ? `\nexport { ${names.join(", ")} };` : "");
  return import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
}
/** @param {...string} names files behind those that all linked views share */
export const load = (...names) => joined(["dom.js", "linked_run.js", "linked.js", ...names]);

// --- rows as payload.py writes them, by the names that matter to a test

/** @param {number} round @param {string} kind */
export const token = (round, kind, { text = "x", source = kind === "accepted" ? "nano" : "target", depth = 0, id = 1 } = {}) =>
  [id, text, null, round, kind, source, [0], depth, 0.5, 1, null, null, null, null];
/** @param {number} round @param {number} node @param {number} depth @param {string} verdict */
export const draft = (round, node, depth, verdict, { text = "x", source = "nano", id = 1, parent = node - 1, level = 1 } = {}) =>
  [round, level, source, node, parent, depth, id, text, 0.5, 0.5, 0.5, verdict, null, null, null, null];
/** @param {number} id */
export const round = (id, { parent = null, level = 1, ns = 4_000_000, outcome = "correction", why = null } = {}) =>
  [id, parent, level, 0, 0, 0, outcome, why, ns, id * ns];
/** @param {any} rows */
export const snapshot = (rows, run = "r", seq = 1) => ({
  run, seq, prompt: "p", prompt_ids: [9], levels: ["nano", "target"], meta: {}, tokens: [], drafts: [], rounds: [], calls: [], pieces: {}, ...rows,
});

/** Two rounds: one of a chain of three whose second is refused, served by a round of the level below; one without a draft. */
export const small = () => snapshot({
  rounds: [round(1, { parent: 2, level: 0 }), round(2), round(3, { outcome: "plain", why: "no match" })],
  drafts: [draft(1, 0, 1, "accepted", { level: 0 }), draft(2, 0, 1, "accepted"), draft(2, 1, 2, "rejected"), draft(2, 2, 3, "unreached")],
  tokens: [token(2, "accepted", { depth: 1 }), token(2, "correction"), token(3, "plain")],
});
