// What the rounds of a level propose to the level above. Pure.
import type { Draft, Round } from "../lib/tables";

/**
 * The tokens proposed by each round of a level: the level above verified them as one chain, where
 * each round's own token follows its accepted ones. `drafts` are the chain, `rounds` the rounds
 * below in order. Empty if inconsistent.
 */
export function handedUp(
  drafts: Draft[],
  rounds: Round[],
): Map<number, { first: number; own: Draft | null }> {
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
