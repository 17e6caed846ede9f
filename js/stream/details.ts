// Templates around the text: the legend with its switch, and the contents of the card.
import { html, nothing } from "lit-html";
import type { createCard } from "../lib/card";
import { sample } from "../lib/chart";
import { exampleOf } from "../lib/lesson";
import { bySource, countsBy } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";

type Card = ReturnType<typeof createCard>;

const ghostKey = (words: string, verdict: string) =>
  html`<span class="hsd-key hsd-key-ghost"
    ><span class="hsd-ghost hsd-sample" data-verdict=${verdict} aria-hidden="true">abc</span
    ><span>${words}</span></span
  >`;
const kindKey = (kind: string, count: number) =>
  html`<span class="hsd-key"
    ><span class="hsd-tok hsd-sample" data-kind=${kind} aria-hidden="true">abc</span
    ><span>${kind}</span><b>${count}</b></span
  >`;

/** The key of the other tokens of the selected one's pass; hidden without one. */
const MATES = html`<span class="hsd-key hsd-key-mates"
  ><span class="hsd-tok hsd-mate hsd-sample" aria-hidden="true">abc</span
  ><span>same pass</span></span
>`;
/** The shapes of tokens with their counts, and those of rejected drafts. */
function shapesOf({ tokens }: Store) {
  const kinds = countsBy(tokens, (token) => token.kind);
  const shapes = ["accepted", "correction", "bonus", ...(kinds.plain ? ["plain"] : [])];
  return html`<div class="hsd-keys">
    ${shapes.map((kind) => kindKey(kind, kinds[kind] ?? 0))}${ghostKey(
      "rejected draft",
      "rejected",
    )}${ghostKey("not examined", "unreached")}
  </div>`;
}

/** The legend: sources with counts and, if `isDetailed`, shapes. */
export function legendOf(store: Store, palette: Palette, isDetailed: boolean) {
  const sources = Object.entries(bySource(store.tokens)).sort((a, b) => b[1] - a[1]);
  const sourceKey = ([source, count]: [string, number]) =>
    html`<span class="hsd-key"
      >${sample(palette.family(source))}<span>${palette.words(source)}</span
      ><b>${count}</b></span
    >`;
  return html`<div class="hsd-legend" role="group" aria-label="Legend">
    <div class="hsd-keys">
      ${sources.map(sourceKey)}${sources.length ? MATES : nothing}
    </div>
    ${isDetailed ? shapesOf(store) : nothing}
  </div>`;
}

/** The card while no token is selected; with details, an example of a run not in progress. */
export function emptyCard(store: Store, card: Card, isLive: boolean, isDetailed: boolean) {
  const example = isDetailed && !isLive ? exampleOf(store) : null;
  const words = store.tokens.length
    ? "Select a token for its details."
    : "Tokens appear here as they are decoded.";
  if (!example)
    return html`<h3>Token details</h3>
      <p class="hsd-note">${words}</p>`;
  const { round, draft } = example;
  const from = `An example, from round ${store.order.get(round.id)}:`;
  const { text, source } = draft;
  return html`<h3>Token details</h3>
    <p class="hsd-note">${words} <span class="hsd-example">${from}</span></p>
    ${card({ text, source, judged: [example], own: null, token: null })}`;
}

/**
 * The card of the token at a position: of a rejected draft token if the cursor is at its event,
 * else of the emitted token.
 */
export function tokenCard(store: Store, card: Card, place: number, step: number, close: unknown) {
  const token = store.tokens[place];
  const inText = store.ownDraft(token);
  const atEvent = store.index().events[step]?.draft;
  const isRejected = atEvent?.verdict === "rejected";
  const draft = isRejected ? atEvent : inText;
  const round = store.rounds.get(token.round) ?? null;
  const judged = draft && round ? [{ round, draft }] : [];
  const { text, source } = draft ?? token;
  return card(
    {
      text,
      source,
      judged,
      own: judged.length ? null : round,
      token: isRejected && atEvent !== inText ? null : token,
      at: place,
    },
    close,
  );
}

/** The button that unpins a token. */
export const closeButton = (isHidden: boolean, unpin: () => void) =>
  html`<button class="hsd-close" ?hidden=${isHidden} @click=${unpin}>
    Unpin
  </button>`;
