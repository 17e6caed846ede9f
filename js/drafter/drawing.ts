// Templates of the drafter's game: its text with the proposal, the choices, and the buttons.
import { html, nothing } from "lit-html";
import { figure, glyphs } from "../lib/words";
import { choicesAt, type ProposalPart } from "./game";
import { type Game, isDone, isFull } from "./state";

/** Maximum length shown: characters of the prompt and text, and tokens written in the game. */
const TAIL = 220;
const TOKENS = 40;
const RECORDED =
  "Recorded run: a proposal is compared with the token that the target drew at each place, " +
  "so the text is that of the run. p is at temperature 1.";
const LIVE =
  "Live: the target of this page decodes the next tokens after the text, and a proposal is " +
  "accepted as far as it agrees: the verdict of one verification pass. " +
  "The databases and nano decode the same prompt beside you.";

export interface DrafterActions {
  add(part: ProposalPart): void;
  undo(): void;
  verify(): void;
  restart(): void;
  /** Start a game on the prompt of the form. */
  begin(): void;
}

function textTemplate({ prompt, written, proposal }: Game) {
  const length = written.reduce((sum, { text }) => sum + text.length, 0);
  const room = Math.max(0, TAIL - length);
  const before = room ? prompt.slice(-room) : "";
  const token = ({ text, mine }: Game["written"][number]) =>
    html`<span class=${mine ? "hsd-df-mine" : "hsd-df-own"}>${text}</span>`;
  return html`<pre
    class="hsd-df-text"
    tabindex="0"
    aria-label="Text so far"
  >${before.length < prompt.length ? "…" : ""}${before}${written
    .slice(-TOKENS)
    .map(token)}${proposal.map(
    (part) => html`<mark>${part.text}</mark>`,
  )}<span class="hsd-df-caret" aria-hidden="true"></span></pre>`;
}

/** The tokens to choose from, and a field for other text. */
function choices(game: Game, acts: DrafterActions) {
  const { run, at, proposal } = game;
  const full = isFull(game);
  const submit = (event: Event) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const field = form.elements.namedItem("text") as HTMLInputElement;
    acts.add({ id: null, text: field.value });
    field.value = "";
  };
  const choice = (part: ProposalPart) =>
    html`<button @click=${() => acts.add(part)}><code>${glyphs(part.text) || "∅"}</code></button>`;
  return html`<div class="hsd-df-choices" role="group" aria-label="Next token">
      ${(full ? [] : choicesAt(run, at + proposal.length)).map(choice)}
    </div>
    <form class="hsd-df-form" @submit=${submit}>
      <input
        name="text"
        autocomplete="off"
        spellcheck="false"
        aria-label="Type the next text"
        placeholder="or type the next text"
        maxlength="80"
        ?disabled=${full}
      />
      <button ?disabled=${full}>Add</button>
    </form>`;
}

function buttons(game: Game, acts: DrafterActions, hasLive: boolean) {
  const { isWaiting, proposal, counts } = game;
  const isRecorded = game.source === "recorded";
  const verify = `Verify${proposal.length ? "" : " nothing: one plain token"}`;
  const begin = html`<button class="hsd-df-live" @click=${acts.begin}>
    Play live on the form’s prompt
  </button>`;
  return html`<div class="hsd-df-form">
    <button
      class="hsd-df-go hsd-primary"
      ?disabled=${isWaiting || isDone(game)}
      @click=${acts.verify}
    >
      ${isWaiting ? "Verifying …" : verify}
    </button>
    <button ?disabled=${isWaiting || !proposal.length} @click=${acts.undo}>Undo</button>
    <button ?disabled=${isWaiting || (!counts.length && isRecorded)} @click=${acts.restart}>
      Start again
    </button>
    ${hasLive && isRecorded ? begin : nothing}
  </div>`;
}

/** Describe the verdict on the last proposal; "" before the first. */
export function verdictWords({ result }: Pick<Game, "result">): string {
  if (!result) return "";
  const { accepted, rejected } = result.verdict;
  const ownWords = `The target’s own token: “${glyphs(result.own)}”.`;
  if (!rejected) return `Accepted ${accepted}. ${ownWords}`;
  const p = rejected.p === null ? "" : ` (p ${figure(rejected.p)})`;
  return `Accepted ${accepted}; rejected “${glyphs(rejected.text)}”${p}. ${ownWords}`;
}

/** The view around the picture in `plot`; `words` describe the picture. */
export function pageTemplate(
  game: Game,
  acts: DrafterActions,
  { plot, words, hasLive }: { plot: Element; words: string; hasLive: boolean },
) {
  return html`<h3>You are the drafter</h3>
    <p class="hsd-note">
      Propose the next tokens. The target verifies them in one pass, accepts those that it would
      have written itself, and adds one of its own.
    </p>
    <div class="hsd-df-body">
      <div>
        ${textTemplate(game)}
        ${isDone(game) ? html`<p>The recorded text ends here.</p>` : choices(game, acts)}
        ${buttons(game, acts, hasLive)}
        <p class="hsd-df-result" role="status">${game.trouble || verdictWords(game)}</p>
      </div>
      <div>
        ${plot}
        <p class="hsd-note">${words}</p>
        <p class="hsd-note">
          ${game.source === "recorded" ? RECORDED : LIVE}
          Choices are the target’s most probable tokens and drafts, in the order of their ids.
          Your own time is not counted.
        </p>
      </div>
    </div>`;
}
