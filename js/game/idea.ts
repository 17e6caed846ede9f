// The idea of the game as a picture, before the first pass: the same tokens, one in each pass, or
// all in one pass with a guess. A pass is one box wide, and its tokens are above each other.
import { html, nothing } from "lit-html";
import { say } from "../lib/say";
import type { Strings } from "./strings";
import type { Kind } from "./words";

/** Right words of the picture; a comma follows each, then the model's own word. */
const WORDS = 4;
const TOKENS: Kind[] = [
  ...Array.from({ length: WORDS }, (): Kind[] => ["you", "filled"]).flat(),
  "own",
];

/** A cell for each token, in the colour of who wrote it. */
export const cells = (kinds: readonly Kind[]) =>
  kinds.map((by) => html`<i class="hsd-gm-key-${by}"></i>`);

/** A row of the picture: its passes as boxes, one after another, with the tokens of each. */
function row(words: string, passes: readonly Kind[][]) {
  const box = (tokens: Kind[], place: number) =>
    html`<b .style=${`--place: ${place}`}>${cells(tokens)}</b>`;
  return html`<strong>${words}</strong>
    <span class="hsd-gm-passes" aria-hidden="true">${passes.map(box)}</span>`;
}

/** The picture, and what a pass is. */
export function idea(strings: Strings) {
  const alone = TOKENS.map((): Kind[] => ["own"]);
  return html`<div class="hsd-gm-idea">
    ${row(say(strings.idea_plain, { passes: alone.length }), alone)}
    ${row(say(strings.idea_guess, { words: WORDS }), [TOKENS])}
    <div>
      ${keys(strings, new Set(TOKENS))}
      <p>${strings.premise} ${strings.therefore}</p>
    </div>
  </div>`;
}

/** Who wrote the tokens that are drawn: the marks of these kinds. */
export function keys(strings: Strings, kinds: ReadonlySet<Kind>) {
  const key = (by: Kind, words: string) =>
    kinds.has(by) ? html`<span><i class="hsd-gm-key-${by}"></i>${words}</span>` : nothing;
  return html`<p class="hsd-note hsd-gm-keys">
    ${key("you", strings.by_you)}${key("filled", strings.by_filling)}${key("own", strings.by_model)}
  </p>`;
}
