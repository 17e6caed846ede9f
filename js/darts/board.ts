// The dart board of one position: the area under p is split into the part that accepts the
// drafter's darts and the residual. Pure functions.
import type { Sampling } from "../lib/run_data";
import type { Draft, Token } from "../lib/tables";
import { workedBack } from "./residual";

/** A column of the board: p = accepted + residual, q = accepted + surplus. */
export interface Column {
  /** Token id; null: all other tokens. */
  id: number | null;
  accepted: number;
  residual: number;
  surplus: number;
  drafted: boolean;
}
export interface Board {
  /**
   * "ratio": the drafter throws a dart under q, which counts if u·q < p. "walk": the target throws
   * a dart under p, which counts if its token was drafted.
   */
  rule: "ratio" | "walk";
  /**
   * What the broken rule does with a rejected token: it draws again from all of p, or keeps every
   * second one.
   */
  fault: "resample" | "keep";
  columns: Column[];
  /**
   * Σ max(0, p − q), the probability that the draft token is rejected; null: not recorded, so that
   * only the columns with a token are known.
   */
  left: number | null;
}
/** A point of the board: the index of its column, and its height as a probability. */
export interface Point {
  column: number;
  y: number;
}
/** The outcome of a proposed token; the broken rule keeps some wrongly. */
export type Fate = "kept" | "redrawn" | "wrong";
/** A dart for one token: where it ends, and the proposal on which it fell first. */
export interface Dart extends Point {
  first: Point;
  fate: Fate;
}

/** Return the column of a token with the probabilities p and q. */
export const columnOf = (id: number | null, p: number, q: number, drafted = false): Column => ({
  id,
  accepted: Math.min(p, q),
  residual: Math.max(0, p - q),
  surplus: Math.max(0, q - p),
  drafted,
});

/**
 * Return the board of a single examined draft token, from its recorded p and q. All other tokens
 * are one column, with the sum of their p.
 */
export function boardOfDraft(d: Draft): Board | null {
  if (d.p === null || d.q === null) return null;
  const others = { id: null, accepted: 0, residual: 1 - d.p, surplus: 0, drafted: false };
  if (d.u === null)
    return {
      rule: "walk",
      fault: "keep",
      columns: [{ ...columnOf(d.token_id, d.p, 1, true), surplus: 0 }, others],
      left: 1 - d.p,
    };
  const columns = [columnOf(d.token_id, d.p, d.q, true)];
  return { rule: "ratio", fault: "resample", columns, left: null };
}

/**
 * Return the board of a correction: the draft tokens, the recorded most likely tokens, and all
 * others as one column. Null if sums were not recorded.
 */
export function boardOfCorrection(
  t: Token,
  refused: Draft[],
  sampling: Sampling,
  block: boolean,
): Board | null {
  // p and q cannot be derived from the residual of block verification, which uses w·p.
  const derivation = block || !refused.length ? null : workedBack(t, refused, sampling);
  if (!derivation) return null;
  const { walk, sum, taken, rest } = derivation;
  const columns = taken.map(({ id, p, q }) => {
    const candidate = columnOf(id, p ?? 0, walk ? 1 : (q ?? 0), true);
    return walk ? { ...candidate, surplus: 0 } : candidate;
  });
  for (const { id, p, left } of rest) {
    // A token whose p is unknown belongs to the others; for the drawn one, the residual is shown.
    if ((p === null && id !== t.token_id) || columns.some((c) => c.id === id)) continue;
    columns.push({
      id,
      accepted: Math.max(0, (p ?? left) - left),
      residual: left,
      surplus: 0,
      drafted: false,
    });
  }
  columns.sort((a, b) => Number(b.drafted) - Number(a.drafted) || b.residual - a.residual);
  const sumOfOthers = (part: "accepted" | "residual" | "surplus", whole: number) =>
    Math.max(0, whole - columns.reduce((s, c) => s + c[part], 0));
  const surplus = walk ? 0 : sumOfOthers("surplus", sum);
  const accepted = sumOfOthers("accepted", 1 - sum);
  const residual = sumOfOthers("residual", sum);
  columns.push({ id: null, accepted, residual, surplus, drafted: false });
  if (walk) return { rule: "walk", fault: "keep", columns, left: sum };
  return { rule: "ratio", fault: "resample", columns, left: sum };
}

/** Probabilities below this are displayed as 0.000. */
export const SPECK = 0.0005;
/**
 * Merge tokens that were not drafted and have negligible p into the column of all others. `keep` is
 * a token that keeps its column.
 */
export function withoutSpecks(board: Board, keep: number): Board {
  const isSpeck = ({ id, accepted, residual, surplus, drafted }: Column) =>
    id !== null && id !== keep && !drafted && accepted + residual + surplus < SPECK;
  const specks = board.columns.filter(isSpeck);
  const sum = (part: "accepted" | "residual" | "surplus") =>
    specks.reduce((whole, one) => whole + one[part], 0);
  const merged = (one: Column): Column => ({
    ...one,
    accepted: one.accepted + sum("accepted"),
    residual: one.residual + sum("residual"),
    surplus: one.surplus + sum("surplus"),
  });
  const columns = board.columns
    .filter((one) => !isSpeck(one))
    .map((one) => (one.id === null ? merged(one) : one));
  return { ...board, columns };
}

/** Draw a uniform point from the area below the height of all columns. */
function point({ columns }: Board, height: (c: Column) => number, next: () => number): Point {
  const total = columns.reduce((sum, one) => sum + height(one), 0);
  let rest = next() * total;
  let column = columns.findIndex((one) => {
    rest -= height(one);
    return rest < 0;
  });
  if (column < 0) column = columns.findLastIndex((one) => height(one) > 0);
  return { column, y: next() * height(columns[column]) };
}

/** The share of rejected tokens that a broken rule keeps. */
const KEPT = 0.5;
export const pOf = ({ accepted, residual }: Column): number => accepted + residual;
const qOf = ({ accepted, surplus }: Column): number => accepted + surplus;
/** The q of a column. A walked draft token was proposed with certainty; other tokens were not. */
export const proposedOf = ({ rule }: Pick<Board, "rule">, column: Column): number => {
  if (rule === "ratio") return qOf(column);
  return column.drafted ? 1 : 0;
};
const residualOf = ({ residual }: Column): number => residual;

/**
 * Throw a dart for one token. By "ratio" it falls under q, and is kept under p; else the token is
 * drawn from the residual. By "walk" it falls under p, and is the token. A broken rule changes the
 * distribution of the tokens. Darts fill each column evenly up to the share of its rule.
 */
export function throwFor(board: Board, isBroken: boolean, next: () => number): Dart {
  const first = point(board, board.rule === "walk" ? pOf : qOf, next);
  return judged(board, first, isBroken, next);
}

/** The first column's proposals at evenly spaced heights; those above p are rejected there. */
export function sampleOf({ columns: [proposed] }: Board, count: number): Dart[] {
  const dart = (_: unknown, k: number): Dart => {
    const y = ((k + 0.5) / count) * qOf(proposed);
    const at = { column: 0, y };
    return { ...at, first: at, fate: y < proposed.accepted ? "kept" : "redrawn" };
  };
  return Array.from({ length: count }, dart);
}

/** Apply a rule to the proposal `first`. */
export function judged(board: Board, first: Point, isBroken: boolean, next: () => number): Dart {
  const { columns, fault } = board;
  const isWalk = board.rule === "walk";
  const { drafted, accepted } = columns[first.column];
  if (isWalk ? drafted : first.y < accepted) return { ...first, first, fate: "kept" };
  const isWrong = isBroken && fault === "keep" && next() < KEPT;
  if (isWrong) {
    const kept = isWalk ? columns.findIndex((one) => one.drafted) : first.column;
    return { ...landing(board, kept, isBroken, next), first, fate: "wrong" };
  }
  const isResampled = isBroken && fault === "resample";
  const redrawn = isWalk ? first : point(board, isResampled ? pOf : residualOf, next);
  const end = landing(board, redrawn.column, isBroken, next);
  return { ...end, first: isWalk ? end : first, fate: "redrawn" };
}

/** A point in a column above the accepted part, up to the share of the rule. */
function landing(board: Board, column: number, isBroken: boolean, next: () => number): Point {
  const { accepted } = board.columns[column];
  const share = lawOf(board, isBroken)[column];
  return { column, y: accepted + next() * (share - accepted) };
}

/** The share of tokens by column that a rule emits in the long run. */
export function lawOf({ columns, rule, fault }: Board, isBroken: boolean): number[] {
  if (!isBroken) return columns.map(pOf);
  const refused = columns.reduce((sum, c) => sum + c.residual, 0);
  if (fault === "resample") return columns.map((c) => c.accepted + refused * pOf(c));
  const kept = columns.findIndex((c) => c.drafted);
  const rejectedOf = ({ surplus }: Column, k: number) => {
    if (rule === "ratio") return surplus;
    return k === kept ? refused : 0;
  };
  return columns.map((c, k) => c.accepted + (1 - KEPT) * c.residual + KEPT * rejectedOf(c, k));
}

/** The column whose share the broken rule changes most. */
export function focusOf(board: Board): number {
  const law = lawOf(board, true);
  const changes = board.columns.map((column, k) => Math.abs(law[k] - pOf(column)));
  return changes.indexOf(Math.max(...changes));
}

/** Return a generator of uniform numbers in [0, 1) from a seed (mulberry32). */
export function numbers(seed: number): () => number {
  let state = (seed * 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
