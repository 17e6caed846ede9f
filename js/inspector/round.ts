// One round: layout of its draft tree, tokens proposed by each level, and the computation of each verdict. Pure.
import type { Draft, Round } from "../lib/contract";

/** A node to lay out; parents come before children, parent -1 is the root; `sign`: it has a verdict mark. */
export interface TreeNode {
  key: number;
  parent: number;
  label: string;
  kept: boolean;
  sign?: boolean;
}
export interface NodeBox {
  key: number;
  parent: number;
  depth: number;
  row: number;
  x: number;
  y: number;
  w: number;
  h: number;
  kept: boolean;
}
export type Layout = ReturnType<typeof layoutTree>;
/** The verification of a position: by u·q < p ("ratio"), or by the verifier's own token ("walk"). */
export interface RatioStep {
  place: number;
  node: number;
  text: string;
  verdict: string;
  line: string;
  chance: number | null;
}
export interface WalkStep {
  place: number;
  node: number;
  text: string[];
  hit: boolean;
  cut: boolean;
  drew: string | null;
  p: number | null;
}
export type Judged =
  | { rule: "none"; steps: [] }
  | { rule: "ratio"; steps: RatioStep[] }
  | { rule: "walk"; steps: WalkStep[] };

export const TREE = { cell: 7.85, pad: 20, sign: 18, height: 28, row: 38, gap: 26, drop: 18, most: 14, least: 2 };

/** Columns of a text in a fixed-width font: wide scripts and emoji take two, combining marks none. */
export function cellsOf(text: string) {
  let n = 0;
  for (const c of text) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(c)) continue;
    n +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u.test(
        c,
      )
        ? 2
        : 1;
  }
  return n;
}

/**
 * A layered layout: columns are draft positions; a node's first child is on its row, other children are below. Children on the
 * accepted path come first, so that it is a straight line. Deterministic. `down`: positions go down, branches to the right.
 * `nodes`: parents before children; parent -1 is
 * the root; `sign`: the node has a verdict mark
 * `root`: the root's label
 */
export function layoutTree(
  nodes: { key: number; parent: number; label: string; kept: boolean; sign?: boolean }[],
  root: string,
  down = false,
) {
  const all = [{ key: -1, parent: NaN, label: root, kept: true }, ...nodes];
  const children = new Map<number, TreeNode[]>(all.map((n) => [n.key, []]));
  for (const n of nodes) children.get(n.parent)?.push(n);
  for (const list of children.values()) list.sort((a, b) => Number(b.kept) - Number(a.kept));
  const width = (n: TreeNode) =>
    Math.ceil(
      TREE.pad + (n.sign ? TREE.sign : 0) + TREE.cell * Math.min(TREE.most, Math.max(TREE.least, cellsOf(n.label))),
    );
  const boxes: NodeBox[] = [];
  let rows = 0;
  const stack: { node: TreeNode; depth: number; fresh: boolean }[] = [{ node: all[0], depth: 0, fresh: true }];
  while (stack.length) {
    const { node, depth, fresh } = stack.pop() as (typeof stack)[number];
    if (fresh) rows += 1;
    boxes.push({
      key: node.key,
      parent: node.parent,
      depth,
      row: rows - 1,
      x: 0,
      y: 0,
      w: width(node),
      h: TREE.height,
      kept: node.kept,
    });
    const list = children.get(node.key) ?? [];
    for (let k = list.length - 1; k >= 0; k--) stack.push({ node: list[k], depth: depth + 1, fresh: k > 0 });
  }
  // A column (or, vertical, a branch) is as wide as its widest node.
  const wide: number[] = [];
  const lane = (box: NodeBox) => (down ? box.row : box.depth);
  for (const b of boxes) wide[lane(b)] = Math.max(wide[lane(b)] || 0, b.w);
  const left = [0];
  for (let k = 0; k < wide.length; k++) left.push(left[k] + wide[k] + (down ? 14 : TREE.gap));
  for (const b of boxes) {
    b.x = left[lane(b)];
    b.y = down ? b.depth * (TREE.height + TREE.drop) : b.row * TREE.row;
  }
  const at = new Map(boxes.map((b) => [b.key, b]));
  const edges = boxes
    .slice(1)
    .map((b) => ({ to: b.key, kept: b.kept, d: edgePath(at.get(b.parent) as NodeBox, b, down, left) }));
  return {
    boxes,
    edges,
    width: Math.max(...boxes.map((b) => b.x + b.w)),
    height: Math.max(...boxes.map((b) => b.y + b.h)),
  };
}

/** Maxima over these drafts: `rows` of a horizontal layout, `places` of a vertical one, `steps` of the computation. */
export function mostOf(all: Iterable<Draft[]>) {
  const most = { rows: 1, places: 1, steps: 0 };
  for (const drafts of all) {
    const parents = new Set(drafts.map((d) => d.parent));
    most.rows = Math.max(most.rows, 1 + drafts.filter((d) => !parents.has(d.node)).length);
    for (const d of drafts) most.places = Math.max(most.places, d.depth + 1);
    // One per examined position, plus one for the rest of a sampled chain.
    const places = new Set(drafts.filter((d) => d.p !== null).map((d) => d.depth)).size;
    most.steps = Math.max(most.steps, places + Number(drafts.some((d) => d.u !== null) && drafts.length > places));
  }
  return most;
}

/** Whether less of a tree is cut off in a vertical layout on a page of `room` px. */
export const betterDown = (across: { width: number }, down: { width: number }, room: number) =>
  Math.max(0, down.width - room) < Math.max(0, across.width - room);

/** The line from a node to its child, with a rounded corner between rows. */
function edgePath(a: NodeBox, b: NodeBox, down: boolean, left: number[]) {
  const r = 6;
  if (down) {
    const [x0, y0, x1, y1] = [a.x + 14, a.y + a.h, b.x + 14, b.y];
    if (x0 === x1) return `M${x0} ${y0}V${y1}`;
    const mid = (y0 + y1) / 2;
    return `M${x0} ${y0}V${mid - r}Q${x0} ${mid} ${x0 + r} ${mid}H${x1 - r}Q${x1} ${mid} ${x1} ${mid + r}V${y1}`;
  }
  const [x0, y0, x1, y1] = [a.x + a.w, a.y + a.h / 2, b.x, b.y + b.h / 2];
  if (y0 === y1) return `M${x0} ${y0}H${x1}`;
  const mid = left[b.depth] - TREE.gap / 2;
  return `M${x0} ${y0}H${mid - r}Q${mid} ${y0} ${mid} ${y0 + r}V${y1 - r}Q${mid} ${y1} ${mid + r} ${y1}H${x1}`;
}

/** The node reached from `key`: child, parent, or previous and next at the same position. */
export function nodeBeside(layout: Pick<Layout, "boxes">, key: number | null, way: string) {
  const here = layout.boxes.find((b) => b.key === key) || layout.boxes[0];
  if (way === "parent") return Number.isNaN(here.parent) ? here.key : here.parent;
  if (way === "child") return (layout.boxes.find((b) => b.parent === here.key) || here).key;
  const level = layout.boxes.filter((b) => b.depth === here.depth).sort((a, b) => a.row - b.row);
  const next = level.indexOf(here) + (way === "next" ? 1 : -1);
  return (level[next] || here).key;
}

/**
 * The tokens proposed by each round of a level: the level above verified them as one chain, where each round's own token follows its
 * accepted ones. `drafts` are the chain, `rounds` the rounds below in order. Empty if inconsistent.
 */
export function handedUp(drafts: Draft[], rounds: Round[]): Map<number, { first: number; own: Draft | null }> {
  const chain = [...drafts].sort((a, b) => a.node - b.node);
  const out = new Map<number, { first: number; own: Draft | null }>();
  let n = 0;
  for (const r of rounds) {
    const adds = r.outcome === "stopped" ? 0 : 1;
    out.set(r.id, { first: n, own: adds ? (chain[n + r.accepted] ?? null) : null });
    n += r.accepted + adds;
  }
  return n === chain.length && chain.every((d, k) => d.parent === k - 1) ? out : new Map();
}

/** Format two numbers with enough digits to distinguish them: three to six. */
export function toTell(a: number, b: number) {
  for (let digits = 3; digits < 6; digits++) if (asFigure(a, digits) !== asFigure(b, digits)) return digits;
  return 6;
}
export function asFigure(x: number, digits = 3) {
  if (x === 0 || x === 1) return String(x);
  return Math.abs(x) >= 0.0001 ? x.toPrecision(digits) : x.toExponential(digits - 1);
}

/**
 * The verification of each position of a round, in order.
 *
 * A chain sampled by a draft model is verified by `u·q < p` (`rule` "ratio"), or as a block by `u < h` where `h` is recorded. A point-mass draft (from a database, or any draft
 * with greedy decoding) is walked: the verifier draws its own token and continues while the draft has it (`rule` "walk").
 * `drafts`: the rows of one round `own`: the verifier's own token ({text}) or null
 */
export function judge(drafts: Draft[], own: { text: string } | null): Judged {
  if (!drafts.length) return { rule: "none", steps: [] };
  const rows = [...drafts].sort((a, b) => a.node - b.node);
  if (rows.some((d) => d.u !== null)) {
    return { rule: "ratio", steps: rows.map((d) => ratioStep(d)) };
  }
  const steps: WalkStep[] = [];
  let at = -1;
  for (let place = 1; ; place++) {
    const here = rows.filter((d) => d.parent === at);
    if (!here.length) break;
    const hit = here.find((d) => d.verdict === "accepted");
    const cut = here.find((d) => d.verdict === "cut");
    const drew = hit || cut || own;
    steps.push({
      place,
      node: (hit || cut || here[0]).node,
      text: here.map((d) => d.text),
      hit: Boolean(hit),
      cut: !hit && Boolean(cut),
      drew: drew ? drew.text : null,
      p: hit ? hit.p : null,
    });
    if (!hit) break;
    at = hit.node;
  }
  return { rule: "walk", steps };
}

function ratioStep(d: Draft) {
  const step: RatioStep = {
    place: d.depth,
    node: d.node,
    text: d.text,
    verdict: d.verdict,
    line: "",
    chance: null,
  };
  if (d.u !== null && typeof d.h === "number") {
    const shown = toTell(d.u, d.h);
    step.line = `u = ${asFigure(d.u, shown)} ${d.verdict === "rejected" ? "≥" : "<"} ${asFigure(d.h, shown)} = h`;
    return step;
  }
  if (d.u === null || d.p === null || d.q === null) return step;
  const product = d.u * d.q;
  const digits = toTell(product, d.p);
  const f = (x: number) => asFigure(x, digits);
  // The sign follows the recorded verdict, even if six digits cannot distinguish the sides.
  const sign = d.verdict === "rejected" ? "≥" : "<";
  step.line = `u · q = ${f(d.u)} × ${f(d.q)} = ${f(product)} ${sign} ${f(d.p)} = p`;
  step.chance = d.q > 0 ? Math.min(1, d.p / d.q) : 1;
  return step;
}

/** The reason for a round without a draft. `verifier` and `below` are names ("the target", "the databases"). */
export function whyNothing(why: string | null, verifier: string, below: string) {
  const reasons: Record<string, string> = {
    "no match": `${below} had no match`,
    "not worth it": "the expected gain was below the verification cost",
    "no room": `only one more token was needed, which is ${verifier}’s own`,
    off: "plain decoding",
  };
  return `No draft: ${reasons[why ?? ""] || why || "reason not recorded"}.`;
}
