// The dart board of a struck word: the model's own probabilities where the visitor wrote something
// else. Pure.
import type { Board, Column } from "../darts/board";
import type { Store } from "../lib/run";
import type { Play } from "./play";
import { bare } from "./words";

export interface Struck {
  /** The word, the text that it is in, and the place of the token that the model wrote there. */
  word: string;
  act: number;
  place: number;
}

/**
 * The struck words of a game whose place has recorded probabilities, the likeliest for the model
 * first.
 */
export function struckWords({ texts, passes }: Play): Struck[] {
  const struck: (Struck & { p: number })[] = [];
  for (const [act, all] of passes.entries())
    for (const { own, words, fates } of all) {
      const word = words[fates.indexOf("struck")];
      const { plain } = texts[act];
      const top = plain.tokens[own]?.top;
      if (!word || !top) continue;
      const p = top.find(([id]) => bare(plain.pieces[id] ?? "") === bare(word))?.[1] ?? 0;
      struck.push({ word, act, place: own, p });
    }
  return struck.sort((a, b) => b.p - a.p);
}

/**
 * The board at temperature 1: a word that was proposed is accepted with the probability that the
 * model gives it, and every other token comes from the rest. Names are those of the columns;
 * `others` is that of the last one.
 */
export function boardOf(
  run: Pick<Store, "tokens" | "pieces">,
  { word, place }: Struck,
  others = "others",
): { board: Board; names: string[] } {
  const top = run.tokens[place].top ?? [];
  const columns: Column[] = [];
  const names: string[] = [];
  const add = (id: number | null, p: number, drafted: boolean, name: string) => {
    columns.push({ id, accepted: drafted ? p : 0, residual: drafted ? 0 : p, surplus: 0, drafted });
    names.push(name);
  };
  const proposed = top.find(([id]) => bare(run.pieces[id] ?? "") === bare(word));
  const p = proposed?.[1] ?? 0;
  add(proposed?.[0] ?? -1, p, true, word);
  for (const [id, other] of top)
    if (id !== proposed?.[0]) add(id, other, false, (run.pieces[id] ?? "").trim() || "↵");
  const rest = Math.max(0, 1 - columns.reduce((sum, one) => sum + one.accepted + one.residual, 0));
  add(null, rest, false, others);
  return { board: { rule: "walk", columns, left: 1 - p }, names };
}
