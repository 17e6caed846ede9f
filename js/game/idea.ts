// The idea of the game as a picture, before the first pass: the same tokens, one in each pass, or
// all in one pass with a guess. Its cells are those of the stairs (blocks.ts).
import { html } from "lit-html";
import { say } from "../lib/say";
import type { Strings } from "./strings";

/** Right words of the picture; a comma follows each, then the model's own word. */
const WORDS = 4;
const TOKENS = [...Array.from({ length: WORDS }, () => ["you", "filled"]).flat(), "own"];

/** A line of the picture: its passes as boxes, one after another, with the tokens of each. */
function line(words: string, passes: readonly string[][]) {
  const cell = (by: string) => html`<i class="hsd-gm-key-${by}"></i>`;
  const box = (tokens: string[], place: number) =>
    html`<b .style=${`--place: ${place}`}>${tokens.map(cell)}</b>`;
  return html`<p>
    <span>${words}</span>
    <span class="hsd-gm-passes">${passes.map(box)}</span>
  </p>`;
}

export function idea(strings: Strings) {
  const alone = TOKENS.map(() => ["own"]);
  return html`<div class="hsd-gm-idea" aria-hidden="true">
    ${line(say(strings.idea_plain, { passes: alone.length }), alone)}
    ${line(say(strings.idea_guess, { words: WORDS }), [TOKENS])} ${keys(strings)}
  </div>`;
}

type Kind = "you" | "filled" | "own";
/** Who wrote the tokens that are drawn. */
export function keys(strings: Strings, kinds: readonly Kind[] = ["you", "filled", "own"]) {
  const all = { you: strings.by_you, filled: strings.by_filling, own: strings.by_model };
  const key = (by: Kind) => html`<span><i class="hsd-gm-key-${by}"></i>${all[by]}</span>`;
  return html`<p class="hsd-note hsd-gm-keys">${kinds.map(key)}</p>`;
}
