// The dart board of a struck word: the model's own probabilities where the visitor wrote something
// else. Pure.
import { type Board, columnOf } from "../darts/board";
import type { Store } from "../lib/run";
import type { Play } from "./play";
import { bare } from "./words";

export interface Struck {
  /** The word, the text that it is in, and the place of the token that the model wrote there. */
  word: string;
  act: number;
  place: number;
  /** Its probability for the model; 0 where it was not recorded. */
  p: number;
}

/**
 * The struck words of a game whose place has recorded probabilities, the likeliest for the model
 * first.
 */
export function struckWords({ texts, passes }: Play): Struck[] {
  const struck: Struck[] = [];
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
 * The board at temperature 1. The proposed word has the probability q = `certainty`, and the other
 * tokens share the rest as the model does. Names are those of the columns; `others` is that of the
 * last one.
 */
export function boardOf(
  run: Pick<Store, "tokens" | "pieces">,
  { word, place }: Pick<Struck, "word" | "place">,
  others = "others",
  certainty = 1,
): { board: Board; names: string[] } {
  const top = run.tokens[place].top ?? [];
  const proposed = top.find(([id]) => bare(run.pieces[id] ?? "") === bare(word));
  const p = proposed?.[1] ?? 0;
  const known = top.filter(([id]) => id !== proposed?.[0]);
  const rest = Math.max(0, 1 - p - known.reduce((sum, [, share]) => sum + share, 0));
  const columns = [columnOf(proposed?.[0] ?? -1, p, certainty, true)];
  for (const [id, share] of [...known, [null, rest] as const])
    columns.push(columnOf(id, share, ((1 - certainty) * share) / (1 - p)));
  const names = [word, ...known.map(([id]) => (run.pieces[id] ?? "").trim() || "↵"), others];
  const left = columns.reduce((sum, { residual }) => sum + residual, 0);
  return { board: { rule: "ratio", fault: "keep", columns, left }, names };
}
