// Templates around the stage of a scene: its title with the buttons, the legend, the card of a
// token, and its dart board.
import { html, nothing } from "lit-html";
import { VERDICT_MARKS } from "../lib/words";

export interface Details {
  title: string;
  summary: string;
  /** Whether a round is shown, and whether it is playing. */
  hasRound: boolean;
  isPlaying: boolean;
  /** Whether the round is the first and the last one. */
  isFirst: boolean;
  isLast: boolean;
  /** Tooltip with the recorded duration of the round; "": not recorded. */
  slowed: string;
  /** Whether the rounds of the run are wider than half of the view. */
  isWide: boolean;
  /** Whether tokens were sampled; at temperature 0 there are no darts. */
  isDrawn: boolean;
  /** Family of the drafter, for its colour; "": no draft. */
  drafter: string;
  /** The results of the tokens of the round. */
  fates: ReadonlySet<string>;
  /** Card of the described token. */
  card: unknown;
}
export interface SceneActions {
  play(): void;
  /** Move by a number of rounds. */
  walk(by: number): void;
}

/** Entries of the legend: verdicts on draft tokens, then the verifier's own tokens. */
const DRAFTED = [
  ["accepted", "accepted"],
  ["rejected", "rejected"],
  ["unreached", "not examined"],
];
const OWN = [
  ["correction", "correction"],
  ["bonus", "bonus"],
];

/** The marks that are in the round. */
function legend(drafter: string, fates: ReadonlySet<string>) {
  const isShown = ([verdict]: string[]) => fates.has(verdict);
  const item =
    (family: string) =>
    ([verdict, words]: string[]) =>
      html`<li>
      <span
        class="hsd-sc-chip hsd-sc-sample"
        data-verdict=${verdict}
        data-family=${family || nothing}
        aria-hidden="true"
        ><code>abc</code></span
      >${words}
    </li>`;
  const leftEntry = html`<li>
    <span class="hsd-sc-left hsd-sc-sample" data-family=${drafter || nothing} aria-hidden="true"
      ><span class="hsd-sc-mark">${VERDICT_MARKS.accepted}</span><code>abc</code></span
    >accepted from here
  </li>`;
  return html`<ul class="hsd-sc-legend">
    ${DRAFTED.filter(isShown).map(item(drafter))}${fates.has("accepted") ? leftEntry : nothing}
    ${OWN.filter(isShown).map(item(""))}
  </ul>`;
}

function navigation(
  { hasRound, isPlaying, isFirst, isLast, slowed }: Details,
  actions: SceneActions,
) {
  return html`<div class="hsd-sc-nav">
    <button
      class="hsd-sc-play hsd-primary"
      ?disabled=${!hasRound}
      aria-pressed=${isPlaying}
      @click=${actions.play}
      title=${slowed || nothing}
    >
      ${isPlaying ? "Stop" : "Play round"}
    </button>
    <button
      ?disabled=${!hasRound || isFirst}
      @click=${() => actions.walk(-1)}
      aria-label="Previous round"
    >
      ←<span> Previous</span>
    </button>
    <button
      ?disabled=${!hasRound || isLast}
      @click=${() => actions.walk(1)}
      aria-label="Next round"
    >
      <span>Next </span>→
    </button>
  </div>`;
}

/** The view around its stage in `box` and its dart board in `board`. */
export function detailsTemplate(
  details: Details,
  actions: SceneActions,
  box: Element,
  board: Element,
) {
  const { title, summary, hasRound, isWide, isDrawn, drafter, fates, card } = details;
  return html`<div class="hsd-sc-head">
      <h3 class="hsd-sc-title hsd-number">${title}</h3>
      <p class="hsd-sc-summary" aria-live="polite">${summary}</p>
      ${navigation(details, actions)}
    </div>
    <div class="hsd-sc-body" data-wide=${isWide} data-drawn=${isDrawn}>
      <div class="hsd-sc-stages">${box}${hasRound ? legend(drafter, fates) : nothing}</div>
      <div
        class="hsd-card"
        tabindex="0"
        role="group"
        aria-label="Selected token of the round"
        ?hidden=${!hasRound}
      >
        ${card}
      </div>
      <div class="hsd-sc-right" ?hidden=${!hasRound || !isDrawn}>${board}</div>
    </div>`;
}
