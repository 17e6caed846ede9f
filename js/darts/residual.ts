// Reconstruct the distribution of a correction (p and q as sampled) from the trace. Pure.
import type { Draft, Token } from "../lib/tables";

type Correction = Pick<Token, "token_id" | "p" | "top" | "q_top" | "residual_sum"> & {
  residual_top: [number, number][];
};
/** A value, or a bound of one that is not recorded. */
export interface Known {
  value: number | null;
  bound: number | null;
}
export interface TableRow {
  id: number;
  p: Known;
  q: Known;
  left: number | null;
  residual: number;
}
type Sampling = Record<string, number | null>;

/**
 * The rows of a correction's table. A chain sampled from q is corrected from max(0, p − q), a walked draft from p without the draft
 * tokens; both are scaled to 1. The trace has the top five of the result (`residual_top`), of the target's row at temperature 1 (`top`)
 * and of q; p and q of draft tokens; and, in newer traces, the sum (`residual_sum`). The remainder of a token is residual · sum, and p = q +
 * remainder. Unknown values are null or have a `bound`.
 *
 * `t`: the correction's row, with a `residual_top`
 * `refused`: the rows of draft tokens at its position, at least one
 * `block`: the round was judged by block verification
 */
export function workedBack(
  t: Correction,
  refused: Draft[],
  sampling: Sampling,
  block = false,
): { rule: string; sum: number | null; refused: TableRow[]; rows: TableRow[] } {
  const rule = block || refused[0].u !== null ? "ratio" : "walk";
  // A token drafted by two databases at one position counts once.
  const drafted = refused.filter((d, k) => refused.findIndex((o) => o.token_id === d.token_id) === k);
  const known = (value: number | null): Known => ({ value, bound: null });
  const taken = drafted.map((d) => ({
    id: d.token_id,
    p: known(d.p),
    q: known(rule === "ratio" ? d.q : null),
    left: 0,
    residual: 0,
  }));
  // The residual of a block is of w·p: p and q cannot be worked back from it.
  if (block) {
    const unknown: Known = { value: null, bound: null };
    const rows = t.residual_top.map(([id, residual]) => ({ id, p: unknown, q: unknown, left: null, residual }));
    return { rule, sum: null, refused: taken, rows };
  }
  if (rule === "walk") {
    const kept = 1 - drafted.reduce((s, d) => s + (d.p ?? 0), 0);
    const sum = t.residual_sum ?? (kept > 1e-3 ? kept : null); // smaller values are rounding errors
    const rows = t.residual_top.map(([id, residual]) => ({
      id,
      p: known(sum === null ? null : residual * sum),
      q: known(null),
      left: sum === null ? null : residual * sum,
      residual,
    }));
    return { rule, sum, refused: taken, rows };
  }
  const p = sampledFrom(t, drafted, sampling);
  const q = lookIn(t.q_top);
  const sum = t.residual_sum ?? sumFrom(t.residual_top, p, q);
  const rows = t.residual_top.map(([id, residual]) => {
    const [pOf, qOf] = [p(id), q(id)];
    const left = sum === null ? null : residual * sum;
    if (left === null) return { id, p: known(pOf), q: qOf, left, residual };
    if (qOf.value !== null) return { id, p: known(left + qOf.value), q: qOf, left, residual };
    if (pOf !== null) return { id, p: known(pOf), q: known(Math.max(0, pOf - left)), left, residual };
    return { id, p: { value: null, bound: qOf.bound === null ? null : left + qOf.bound }, q: qOf, left, residual };
  });
  return { rule, sum, refused: taken, rows };
}

/** Look up a top-five list: other tokens are bounded by the fifth value, or 0 outside a shorter list. */
function lookIn(list: [number, number][] | null) {
  return (id: number): Known => {
    if (!list) return { value: null, bound: null };
    const found = list.find(([token]) => token === id);
    if (found) return { value: found[1], bound: null };
    return list.length < 5 ? { value: 0, bound: null } : { value: null, bound: list[list.length - 1][1] };
  };
}

/**
 * p as sampled, for tokens whose p at temperature 1 is recorded. Temperature T raises each p to 1 / T and rescales; the scale follows
 * from the draft token, whose p is recorded both ways.
 */
function sampledFrom(t: Correction, drafted: Draft[], sampling: Sampling): (id: number) => number | null {
  const { top_k = 0, top_p = 1 } = sampling;
  const T = sampling.temperature ?? 1;
  const warm = new Map<number, number>([...(t.top || []), ...(t.p === null ? [] : [[t.token_id, t.p] as const])]);
  const hot = (id: number) => (warm.get(id) ?? NaN) ** (1 / T);
  const whole = T === 1 && !top_k && (top_p ?? 1) === 1;
  const anchor = drafted.find((d) => (d.p ?? 0) > 0 && (warm.get(d.token_id) ?? 0) > 0);
  const scale = whole ? 1 : anchor ? (anchor.p ?? NaN) / hot(anchor.token_id) : null;
  // Valid only for tokens of the residual, which were in the sampled set.
  return (id) => (scale === null || !warm.has(id) ? null : scale * hot(id));
}

/** The sum of max(0, p − q), from the most likely residual token with known p and q; null if there is none. */
function sumFrom(residual: [number, number][], p: (id: number) => number | null, q: (id: number) => Known) {
  for (const [id, r] of residual) {
    const [pOf, qOf] = [p(id), q(id).value];
    // Six digits are recorded: if two values agree in three, half of the difference is rounding.
    if (pOf !== null && qOf !== null && r > 0 && pOf - qOf > 1e-3 * pOf) return Math.min(1, (pOf - qOf) / r);
  }
  return null;
}
