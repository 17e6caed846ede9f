// One position as a dart board: the area under p, split into what the drafter's darts win
// (accepted) and what is left (residual). Pure.
import type { Sampling } from "../lib/run_data";
import type { Draft, Token } from "../lib/tables";
import { workedBack } from "./residual";

/** A column of the board. p = accepted + residual; q = accepted + surplus. */
export interface Column {
  /** Token id; null: all others. */
  id: number | null;
  accepted: number;
  residual: number;
  surplus: number;
  drafted: boolean;
}
export interface Board {
  /**
   * "ratio": the drafter's dart lands under q and counts if u·q < p. "walk": the target's dart
   * counts if its token was drafted.
   */
  rule: "ratio" | "walk";
  columns: Column[];
  /**
   * Σ max(0, p − q), the chance that the draft token is rejected; null: not recorded, only the
   * columns with a token are known.
   */
  left: number | null;
}
/** A dart: its column, and its height as a probability. */
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
 * The board of one examined draft token alone: the recording has p and q of this token, and p of
 * all others together.
 */
export function boardOfDraft(d: Draft): Board | null {
  if (d.p === null || d.q === null) return null;
  const rest = { id: null, accepted: 0, residual: 1 - d.p, surplus: 0, drafted: false };
  if (d.u === null)
    return {
      rule: "walk",
      columns: [{ ...column(d.token_id, d.p, 1, true), surplus: 0 }, rest],
      left: 1 - d.p,
    };
  return { rule: "ratio", columns: [column(d.token_id, d.p, d.q, true)], left: null };
}

/**
 * The board of a correction: the drafted tokens, the recorded top rows, and the rest as one column.
 * Null without recorded sums.
 */
export function boardOfCorrection(
  t: Token,
  refused: Draft[],
  sampling: Sampling,
  block: boolean,
): Board | null {
  // The residual of a block is of w·p: p and q cannot be worked back from it.
  const derivation = block || !refused.length ? null : workedBack(t, refused, sampling);
  if (!derivation) return null;
  const { walk, sum, taken, rest } = derivation;
  const columns = taken.map(({ id, p, q }) => {
    const made = column(id, p ?? 0, walk ? 1 : (q ?? 0), true);
    return walk ? { ...made, surplus: 0 } : made;
  });
  for (const { id, p, left } of rest) {
    // A token whose p is not known is one of the rest; of the one that was drawn, what is left of
    // p is shown.
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
  const others = (part: "accepted" | "residual" | "surplus", whole: number) =>
    Math.max(0, whole - columns.reduce((s, c) => s + c[part], 0));
  const surplus = walk ? 0 : others("surplus", sum);
  const accepted = others("accepted", 1 - sum);
  const residual = others("residual", sum);
  columns.push({ id: null, accepted, residual, surplus, drafted: false });
  return { rule: walk ? "walk" : "ratio", columns, left: sum };
}

/** Probabilities below this are 0.000 as they are written. */
const SPECK = 0.0005;
/**
 * The board with the tokens that were not drafted and have hardly a share of p in the column of all
 * others; `keep`: a token that has its own column.
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

/** A point under the sum of some parts of the columns; `y` counts from the foot of `from`. */
function point(
  board: Board,
  height: (c: Column) => number,
  foot: (c: Column) => number,
  next: () => number,
): Dart {
  const total = board.columns.reduce((s, c) => s + height(c), 0);
  let mark = next() * total;
  let at = board.columns.findIndex((c) => {
    mark -= height(c);
    return mark < 0;
  });
  if (at < 0) at = board.columns.reduce((last, c, k) => (height(c) > 0 ? k : last), 0);
  const c = board.columns[at];
  return { column: at, y: foot(c) + next() * height(c), hit: true };
}

/**
 * Throw for one token: the first dart, and a second one after a rejection. Lossless: the second
 * falls on the residual. `lossy`: on the whole of p, as if nothing had been accepted before. The
 * token is that of the last dart.
 */
export function throwFor(board: Board, lossy: boolean, next: () => number): Dart[] {
  const under = (height: (c: Column) => number, foot = (_: Column) => 0) =>
    point(board, height, foot, next);
  const p = (c: Column) => c.accepted + c.residual;
  const left = (c: Column) => c.residual;
  const won = (c: Column) => c.accepted;
  const walk = board.rule === "walk";
  const first = under(walk ? p : (c) => c.accepted + c.surplus);
  const { drafted, accepted } = board.columns[first.column];
  first.hit = walk ? drafted : first.y < accepted;
  if (first.hit || (walk && !lossy)) return [first];
  return [first, lossy ? under(p) : under(left, won)];
}

/** The share of tokens by column that a rule emits in the long run. */
export const lawOf = ({ columns }: Board, lossy: boolean) => {
  const refused = columns.reduce((s, c) => s + c.residual, 0);
  return columns.map(
    (c) => c.accepted + (lossy ? refused * (c.accepted + c.residual) : c.residual),
  );
};

/** Uniform numbers in [0, 1) from a seed (mulberry32). */
export function numbers(seed: number): () => number {
  let state = (seed * 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
