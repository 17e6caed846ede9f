// One round: the tokens proposed by each level, and the computation of each verdict. Pure.
import type { Draft, Round } from "../lib/tables";

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
