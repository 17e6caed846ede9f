// The distribution of a correction (p and q as sampled), worked back from what the trace has of it.
// Pure.
import type { Sampling } from "../lib/run_data";
import type { Draft, Token } from "../lib/tables";

type Correction = Pick<Token, "token_id" | "p" | "top" | "residual_top" | "q_top" | "residual_sum">;
/**
 * A token of a correction's position: p and q as sampled, null if not known, and what is left of p.
 */
export interface Rest {
  id: number;
  p: number | null;
  q: number | null;
  left: number;
}

/**
 * A chain sampled from q is corrected from max(0, p − q), a walked draft from p without the draft
 * tokens; both are scaled to 1. The trace has the top five of the result (`residual_top`) and its
 * sum, of the target's row at temperature 1 (`top`) and of q, and p and q of draft tokens. What is
 * left of a token is residual · sum, and p = q + what is left. Null where the sum was not recorded.
 *
 * `refused`: the rows of draft tokens at its position, at least one
 */
export function workedBack(t: Correction, refused: Draft[], sampling: Sampling) {
  // A token drafted by two databases at one position counts once.
  const drafted = refused.filter(
    (d, k) => refused.findIndex((o) => o.token_id === d.token_id) === k,
  );
  const walk = refused[0].u === null;
  const sum = t.residual_sum;
  if (sum === null || !t.residual_top) return null;
  const taken = drafted.map(
    (d): Rest => ({
      id: d.token_id,
      p: d.p,
      q: walk ? null : d.q,
      left: 0,
    }),
  );
  const qs = new Map(t.q_top ?? []);
  // A list shorter than five has all tokens with a probability.
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
  const rest = lefts.map(({ id, left }): Rest => {
    if (walk) return { id, p: left, q: null, left };
    const qOf = q(id);
    if (qOf !== null) return { id, p: left + qOf, q: qOf, left };
    const pOf = p(id);
    return { id, p: pOf, q: pOf === null ? null : Math.max(0, pOf - left), left };
  });
  return { walk, sum, taken, rest };
}

/**
 * p as sampled, for tokens whose p at temperature 1 is recorded. Temperature T raises each p to 1 /
 * T and rescales; the scale follows from a token whose p is known both ways.
 */
function sampledFrom(
  t: Correction,
  sampled: readonly Pick<Rest, "id" | "p">[],
  { temperature, top_k, top_p, min_p }: Sampling,
) {
  const T = temperature ?? 1;
  const warm = new Map<number, number>([
    ...(t.top ?? []),
    ...(t.p === null ? [] : [[t.token_id, t.p] as const]),
  ]);
  const hot = (id: number) => (warm.get(id) ?? NaN) ** (1 / T);
  const whole = T === 1 && !top_k && (top_p ?? 1) === 1 && !min_p;
  const anchor = sampled.find(({ id, p }) => (p ?? 0) > 0 && (warm.get(id) ?? 0) > 0);
  const scale = whole ? 1 : anchor ? (anchor.p ?? NaN) / hot(anchor.id) : null;
  // Valid only for tokens of the residual, which were in the sampled set.
  return (id: number) => (scale === null || !warm.has(id) ? null : scale * hot(id));
}
