// What passes brought, as bars beside each other: a cell for each token, the model's own at the end
// of each pass.
import { html } from "lit-html";
import { cells } from "./idea";
import { type GameText, givenOf, rivalsAtEnd } from "./play";
import { type Pass, tokensOf } from "./score";
import type { Kind } from "./words";

/** The cells of a bar by who wrote them: those of the player are `you`. */
export const barOf = (passes: readonly Pass[]): Kind[] =>
  passes.flatMap(({ tokens, filled }) => {
    const drafted = Array.from(
      { length: tokens - 1 },
      (_, k): Kind => (filled?.[k] ? "filled" : "you"),
    );
    return [...drafted, "own"];
  });

/** The tokens of which the bars of a text have room from the start: they keep their scale. */
export function roomOf(text: GameText): number {
  const rest = text.plain.tokens.slice(givenOf(text));
  const others = rivalsAtEnd({ texts: [text] }).map(({ passes }) => tokensOf(passes));
  return Math.max(rest.length, ...others);
}

/** The bar of some passes, in so much room. */
export const bar = (passes: readonly Pass[], room: number) =>
  html`<span class="hsd-gm-bar" aria-hidden="true" .style=${`--room: ${room}`}
    >${cells(barOf(passes))}</span
  >`;
