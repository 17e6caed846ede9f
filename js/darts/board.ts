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
  columns: Column[];
  /**
   * Σ max(0, p − q), the probability that the draft token is rejected; null: not recorded, so that
   * only the columns with a token are known.
   */
  left: number | null;
}
/** A dart: the index of its column, and its height as a probability. */
export interface Dart {
  column: number;
  y: number;
  hit: boolean;
}

const column = (id: number | null, p: number, q: number, drafted = false): Column => ({
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
      columns: [{ ...column(d.token_id, d.p, 1, true), surplus: 0 }, others],
      left: 1 - d.p,
    };
  return { rule: "ratio", columns: [column(d.token_id, d.p, d.q, true)], left: null };
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
    const candidate = column(id, p ?? 0, walk ? 1 : (q ?? 0), true);
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
  return { rule: walk ? "walk" : "ratio", columns, left: sum };
}

/** Probabilities below this are displayed as 0.000. */
const SPECK = 0.0005;
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

/** Draw a uniform point from the area between `foot` and `foot` + `height` of all columns. */
function point(
  board: Board,
  height: (c: Column) => number,
  foot: (c: Column) => number,
  next: () => number,
): Dart {
  const total = board.columns.reduce((s, c) => s + height(c), 0);
  let mark = next() * total;
  let index = board.columns.findIndex((c) => {
    mark -= height(c);
    return mark < 0;
  });
  if (index < 0) index = board.columns.reduce((last, c, k) => (height(c) > 0 ? k : last), 0);
  const c = board.columns[index];
  return { column: index, y: foot(c) + next() * height(c), hit: true };
}

/** The share of rejected tokens that the broken rule of a walk keeps. */
const KEPT = 0.5;
const pOf = ({ accepted, residual }: Column) => accepted + residual;

/**
 * Throw for one token: the first dart, and a second one after a rejection, which falls on the
 * residual. A walk needs no second one: its first dart is the token. A broken rule changes p: the
 * second dart of "ratio" falls on the whole of p, as if nothing had been accepted before; that of
 * "walk" keeps the first drafted token although another one was drawn. The token is that of the
 * last dart.
 */
export function throwFor(board: Board, isBroken: boolean, next: () => number): Dart[] {
  const under = (height: (c: Column) => number, foot = (_: Column) => 0) =>
    point(board, height, foot, next);
  const isWalk = board.rule === "walk";
  const first = under(isWalk ? pOf : (c) => c.accepted + c.surplus);
  const { drafted, accepted } = board.columns[first.column];
  first.hit = isWalk ? drafted : first.y < accepted;
  if (first.hit) return [first];
  if (!isWalk) return [first, isBroken ? under(pOf) : under(residualOf, acceptedOf)];
  if (!isBroken || next() >= KEPT) return [first];
  const column = board.columns.findIndex((c) => c.drafted);
  return [first, { column, y: next() * lawOf(board, true)[column], hit: true }];
}
const residualOf = ({ residual }: Column) => residual;
const acceptedOf = ({ accepted }: Column) => accepted;

/** The share of tokens by column that a rule emits in the long run. */
export function lawOf({ columns, rule }: Board, isBroken: boolean): number[] {
  if (!isBroken) return columns.map(pOf);
  const refused = columns.reduce((sum, c) => sum + c.residual, 0);
  if (rule === "ratio") return columns.map((c) => c.accepted + refused * pOf(c));
  const kept = columns.findIndex((c) => c.drafted);
  return columns.map(
    (c, k) => c.accepted + (1 - KEPT) * c.residual + (k === kept ? KEPT * refused : 0),
  );
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
