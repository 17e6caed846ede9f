// Derives the distributions of a correction (p and q as sampled) from the values in the trace. Pure
// functions.
import type { Sampling } from "../lib/run_data";
import type { Draft, Token } from "../lib/tables";

type Correction = Pick<Token, "token_id" | "p" | "top" | "residual_top" | "q_top" | "residual_sum">;
/**
 * A token at a correction's position: p and q as sampled (null: unknown), and its residual of p.
 */
export interface ResidualToken {
  id: number;
  p: number | null;
  q: number | null;
  left: number;
}

/**
 * Derive p and q at the position of a correction. A chain sampled from q is corrected from
 * max(0, p − q), a walked draft from p without the draft tokens; both are scaled to 1. The trace
 * has the sum of this residual; the top five of the scaled residual (`residual_top`), of the
 * target's row at temperature 1 (`top`) and of q; and p and q of draft tokens. The residual of a
 * token is its scaled value · sum, and p = q + residual. Null if the sum was not recorded.
 *
 * `refused`: the rows of draft tokens at the position, at least one
 */
export function workedBack(t: Correction, refused: Draft[], sampling: Sampling) {
  // A token drafted by two databases at one position counts once.
  const drafted = refused.filter(
    (d, k) => refused.findIndex((o) => o.token_id === d.token_id) === k,
  );
  const walk = refused[0].u === null;
  const sum = t.residual_sum;
  if (sum === null || !t.residual_top) return null;
  const draftRows = drafted.map(
    (d): ResidualToken => ({
      id: d.token_id,
      p: d.p,
      q: walk ? null : d.q,
      left: 0,
    }),
  );
  const qs = new Map(t.q_top ?? []);
  // A list with fewer than five tokens is complete: all others have probability 0.
  const q = (id: number) => qs.get(id) ?? (t.q_top && t.q_top.length < 5 ? 0 : null);
  const lefts = t.residual_top.map(([id, residual]) => ({ id, left: residual * sum }));
  const exact = lefts.flatMap(({ id, left }) => {
    const qOf = walk ? 0 : q(id);
    return qOf === null ? [] : [{ id, p: left + qOf }];
  });
  const p = sampledFrom(
    t,
    [...drafted.map((d) => ({ id: d.token_id, p: d.p })), ...exact],
    sampling,
  );
  const rest = lefts.map(({ id, left }): ResidualToken => {
    if (walk) return { id, p: left, q: null, left };
    const qOf = q(id);
    if (qOf !== null) return { id, p: left + qOf, q: qOf, left };
    const pOf = p(id);
    return { id, p: pOf, q: pOf === null ? null : Math.max(0, pOf - left), left };
  });
  return { walk, sum, taken: draftRows, rest };
}

/**
 * Return a function of p as sampled, for tokens whose p at temperature 1 is recorded. Temperature T
 * raises each p to 1 / T and rescales. The scale follows from a token for which both values of p
 * are known.
 */
function sampledFrom(
  t: Correction,
  sampled: readonly Pick<ResidualToken, "id" | "p">[],
  { temperature, top_k, top_p, min_p }: Sampling,
) {
  const T = temperature ?? 1;
  const warm = new Map<number, number>([
    ...(t.top ?? []),
    ...(t.p === null ? [] : [[t.token_id, t.p] as const]),
  ]);
  const hot = (id: number) => (warm.get(id) ?? NaN) ** (1 / T);
  const isUntransformed = T === 1 && !top_k && (top_p ?? 1) === 1 && !min_p;
  const anchor = sampled.find(({ id, p }) => (p ?? 0) > 0 && (warm.get(id) ?? 0) > 0);
  const scale = isUntransformed ? 1 : anchor ? (anchor.p ?? NaN) / hot(anchor.id) : null;
  // Valid only for tokens of the residual, which were in the sampled set.
  return (id: number) => (scale === null || !warm.has(id) ? null : scale * hot(id));
}
