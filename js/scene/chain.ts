// Finds the tokens that each round of a level proposed to the level above. Pure function.
import type { Draft, Round } from "../lib/tables";

/**
 * Divide a chain among the rounds that proposed it. The level above verified `drafts` as one chain,
 * in which each round's accepted tokens are followed by its own token. `rounds` are the rounds of
 * the level below in order. Empty if the counts are inconsistent.
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
