// The card of a token, in the text and in the scene of a round: what proposed it, how it was
// decided and why, with the recorded numbers.
import { html, nothing } from "lit-html";
import { isWhole, RULES } from "./facts";
import type { Palette } from "./palette";
import type { Store } from "./run";
import type { Draft, Round, Token } from "./tables";
import {
  capital,
  digitsFor,
  FATES,
  figure,
  glyphs,
  KIND_WORDS,
  plural,
  precise,
  temperatureWords,
} from "./words";

/** A verdict that a token got: from a round, as this row of its draft. */
export interface VerifiedDraft {
  round: Round;
  draft: Draft;
}
/** What a card is about: a draft token by its last verdict, or a round's own token. */
export interface Subject {
  text: string;
  source: string;
  judged: VerifiedDraft[];
  /** The round whose own token this is. */
  own: Round | null;
  /** Its row in the text, where it came into it. */
  token: Token | null;
  /** The place in the text where it was proposed. */
  at?: number;
}
type Fact = [name: string, value: unknown];

/**
 * How a verdict follows from the recorded numbers by a rule; "" where they were not compared, or by
 * a rule of another package.
 */
export function lineOf({ verdict, u, h, p, q }: Draft, rule: string): string {
  if (!RULES.includes(rule)) return "";
  // The sign follows the recorded verdict, even if six digits cannot distinguish the sides.
  const sign = verdict === "rejected" ? "≥" : "<";
  if (u !== null && typeof h === "number") {
    const digits = digitsFor(u, h);
    return `u = ${precise(u, digits)} ${sign} ${precise(h, digits)} = h`;
  }
  if (u === null || p === null || q === null) return "";
  const f = (x: number) => precise(x, digitsFor(u * q, p));
  return `u · q = ${f(u)} × ${f(q)} = ${f(u * q)} ${sign} ${f(p)} = p`;
}

/** The rule of blocks; docs/explanation/hierarchies.md has the same with a picture. */
const H_IN_THREE_LINES = html`<details class="hsd-note">
  <summary>What is h?</summary>
  w, from 1: at each token w = min(1, w·p/q).<br />s: the sum of max(0, w·p − q) over the rows after
  it.<br />
  h = s/(s + 1 − w); at the last token h = w. The last u &lt; h ends what is accepted.
</details>`;

/** Whether a sampled token was judged by u < h. */
const byBlock = ({ round, draft }: VerifiedDraft) => isWhole(round.rule) && draft.u !== null;

/** Continues the run from a place with another token; null: the page cannot. */
type Continue = ((at: number, text: string) => void) | null;

/** What cards are drawn from. */
interface Context {
  store: Store;
  palette: Palette;
  /** Show a position of the text. */
  light(position: number): void;
  branch(): Continue;
}

const isGreedy = ({ meta }: Store) => meta.sampling?.temperature === 0;
const isAccepted = ({ verdict }: Draft) => verdict === "accepted";

/**
 * The chance that a draw of the verifier had of being the draft token: what decided where the
 * drafter drew nothing itself.
 */
function chanceWords(store: Store, { p, verdict }: Draft): string {
  if (isGreedy(store) || p === null) return "";
  const fate = verdict === "rejected" ? "; this draw failed" : "";
  return ` The chance of acceptance was ${(100 * p).toFixed(0)} %${fate}.`;
}

/** Why a draft token was accepted. */
function acceptedWords(store: Store, { round, draft }: VerifiedDraft): string {
  if (byBlock({ round, draft }))
    return "Accepted: the last position with u < h is this one or a later one.";
  if (draft.u !== null) return "Accepted: u·q < p.";
  return `Accepted: ${store.actor(round)} has the same token.${chanceWords(store, draft)}`;
}
/** Why a draft token was rejected. */
function rejectedWords(store: Store, { round, draft }: VerifiedDraft): string {
  if (byBlock({ round, draft })) return "Rejected: no position from here on has u < h.";
  if (draft.u !== null) return "Rejected: u·q ≥ p.";
  return `Rejected: ${store.actor(round)} has another token.${chanceWords(store, draft)}`;
}
/** Why a draft token was not examined. */
function unreachedWords(store: Store, { round, draft }: VerifiedDraft): string {
  const siblings = (store.drafts.get(round.id) ?? []).filter(
    (other) => other.parent === draft.parent,
  );
  if (siblings.some(isAccepted)) return "Not examined: another branch was accepted.";
  return "Not examined: an earlier token was rejected, or the text ended.";
}

/** Why a draft token was accepted or not. */
function verdictWords(store: Store, verified: VerifiedDraft): string {
  const { rule } = verified.round;
  const { verdict } = verified.draft;
  const isDecided = verdict === "accepted" || verdict === "rejected";
  if (isDecided && !RULES.includes(rule))
    return `${capital(verdict)} by the rule “${rule}” of another package.`;
  if (verdict === "accepted") return acceptedWords(store, verified);
  if (verdict === "rejected") return rejectedWords(store, verified);
  if (verdict === "cut") return "Cut: it matched, but the text ended before this position.";
  return unreachedWords(store, verified);
}

/** How a round came to its own token. */
function ownWords({ store, palette }: Context, round: Round): string {
  const actor = store.actor(round);
  if (round.outcome === "bonus")
    return "The whole draft was accepted; the same forward pass gave this token.";
  if (round.outcome !== "correction") return `Generated by ${actor} without a draft.`;
  const refused = (store.drafts.get(round.id) ?? []).find((d) => d.verdict === "rejected");
  if (!refused) return `No draft token was accepted here; this is ${actor}’s own token.`;
  const draft = `“${glyphs(refused.text)}” from ${palette.phrase(refused.source)}`;
  const words = `${capital(actor)} rejected ${draft}`;
  if (refused.u === null) return `${words}; this is its own token.`;
  if (!RULES.includes(round.rule))
    return `${words}; this token was drawn from the weights of the rule “${round.rule}”.`;
  const weight = round.rule === "token" ? "p" : "w·p";
  return `${words} and drew this token from the residual max(0, ${weight} − q), scaled to 1.`;
}

function draftFacts({ store, light }: Context, draft: Draft): Fact[] {
  const jump = (at: number) =>
    html`<button title="Show the copied text" @click=${() => light(at)}>
      position ${at}
    </button>`;
  const greedy = isGreedy(store) ? " (greedy)" : "";
  const known: [string, number | null, (x: number) => unknown][] = [
    ["draft position", draft.depth, String],
    ["p, verifier", draft.p, (x) => `${precise(x)}${greedy}`],
    ["q, drafter", draft.q, (x) => (x === 1 && draft.u === null ? "1 (point mass)" : precise(x))],
    ["u, drawn", draft.u, precise],
    ["h, threshold", draft.h, precise],
    ["key", draft.key_length, (x) => plural(x, "token")],
    ["seen", draft.count, (x) => `${x} ×`],
    ["score", draft.score, figure],
    ["copied from", draft.position, jump],
    ["similarity of states", draft.cosine, figure],
  ];
  return known.flatMap(([name, x, write]): Fact[] =>
    (x ?? null) === null ? [] : [[name, write(x as number)]],
  );
}

function tokenFacts(store: Store, token: Token): Fact[] {
  const facts: Fact[] = [
    ["token", `${token.index + 1} of ${store.tokens.length}`],
    ["round", `${store.order.get(token.round)} of ${store.order.size}`],
    ["p at T = 1", figure(token.p)],
    ["entropy", token.entropy === null ? "–" : `${token.entropy.toFixed(2)} nats`],
    ["path", token.path.map((level) => store.levels[level] ?? level).join(" → ") || "–"],
  ];
  if (token.raw !== null) facts.push(["bytes", token.raw]);
  return facts;
}

/** A token of a row: one that was not chosen can continue the run from place `at`. */
function choice({ store, branch }: Context, id: number, chosen: number, at: number | null) {
  const words = store.pieces[id];
  const go = branch();
  if (!go || at === null || id === chosen || words === undefined)
    return html`<code>${glyphs(words ?? `#${id}`)}</code>`;
  return html`<button
    class="hsd-branch"
    title="Continue from here with this token"
    @click=${() => go(at, words)}
  >
    ${glyphs(words)}
  </button>`;
}

/** The likeliest tokens of a place with their probabilities as bars. */
function bars(
  context: Context,
  title: string,
  top: [number, number][] | null,
  chosen: number,
  at: number | null = null,
) {
  if (!top?.length) return nothing;
  const row = ([id, p]: [number, number]) =>
    html`<div class=${id === chosen ? "hsd-top-row hsd-chosen" : "hsd-top-row"}>
      ${choice(context, id, chosen, at)}
      <span class="hsd-track"
        ><span class="hsd-fill" .style=${`width: ${Math.max(1, 100 * p)}%`}></span
      ></span>
      <span class="hsd-num">${figure(p)}</span>
    </div>`;
  return html`<section class="hsd-top">
    <h4>${title}</h4>
    ${top.map(row)}
  </section>`;
}

/** The likeliest tokens of a place: the target's, those of a correction, the drafter's. */
function topsOf(context: Context, { top, q_top, residual_top, token_id, index }: Token) {
  const rest = q_top ? "Residual, top 5" : "p without draft tokens, scaled to 1, top 5";
  return [
    bars(context, "Target’s top 5 at temperature 1", top, token_id, index),
    bars(context, rest, residual_top, token_id),
    bars(context, "Drafter’s q, top 5", q_top, token_id),
  ];
}

/** A rejected token can continue the run in the place of the one that was drawn. */
function instead({ branch }: Context, { text, judged, at }: Subject) {
  const go = branch();
  if (!go || at === undefined || judged.at(-1)?.draft.verdict !== "rejected") return nothing;
  return html`<p>
    <button class="hsd-continue" @click=${() => go(at, text)}>
      Continue with “${glyphs(text)}” instead
    </button>
  </p>`;
}

/** Why a token is in the text or not, and what happened to it before. */
function storyOf(context: Context, { judged, own }: Subject): string {
  const { store } = context;
  const last = judged.at(-1);
  const words: string[] = [];
  if (last) words.push(verdictWords(store, last));
  else if (own) words.push(ownWords(context, own));
  if (last && own) words.push(`${capital(store.actor(own))} added it: ${own.outcome}.`);
  for (const { round, draft } of judged.slice(0, -1)) {
    const chance = draft.p === null ? "" : `, p ${figure(draft.p)}`;
    words.push(`${capital(store.actor(round))} accepted it${chance}.`);
  }
  return words.join(" ");
}

/** What p means here. */
function noteOf(store: Store, token: Token | null): string {
  if (isGreedy(store))
    return "Greedy decoding: p is 1 for the verifier’s most likely token and 0 for all others.";
  return token ? temperatureWords(store.meta.sampling) : "";
}

/** The comparison that decided on a draft token. */
function comparison(verified: VerifiedDraft) {
  const line = lineOf(verified.draft, verified.round.rule);
  return html`${line ? html`<p class="hsd-sum">${line}</p>` : nothing}${
    byBlock(verified) ? H_IN_THREE_LINES : nothing
  }`;
}

function factsTemplate(facts: readonly Fact[]) {
  const row = ([name, value]: Fact) =>
    html`<div>
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>`;
  return html`<dl class="hsd-facts">
    ${facts.map(row)}
  </dl>`;
}

/** The card of a token; `beside`: what follows its name. */
function cardTemplate(context: Context, subject: Subject, beside: unknown) {
  const { store, palette } = context;
  const { text, source, judged, own, token } = subject;
  const last = judged.at(-1);
  const family = palette.family(source);
  const kind = last ? last.draft.verdict : (own?.outcome ?? "");
  const facts = [
    ...(last ? draftFacts(context, last.draft) : []),
    ...(token ? tokenFacts(store, token) : []),
  ];
  const note = noteOf(store, token);
  return html`<div class="hsd-card-head">
      <h3 data-family=${family}><code class="hsd-big">${glyphs(text) || "∅"}</code></h3>
      ${beside}
    </div>
    <p>
      <span class="hsd-chip" data-family=${family}>${palette.words(source)}</span>
      <span class="hsd-tok hsd-kind" data-kind=${kind}
        >${FATES[kind] ?? KIND_WORDS[kind] ?? kind}</span
      >
    </p>
    <p class="hsd-story">${storyOf(context, subject)}</p>
    ${last ? comparison(last) : nothing} ${factsTemplate(facts)}
    ${instead(context, subject)}${token ? topsOf(context, token) : nothing}
    ${note ? html`<p class="hsd-note">${note}</p>` : nothing}`;
}

/** The cards of a run; the returned function draws that of a token, `beside` after its name. */
export function createCard(
  store: Store,
  palette: Palette,
  light: (position: number) => void,
  branch: () => Continue = () => null,
) {
  const context: Context = { store, palette, light, branch };
  return (subject: Subject, beside: unknown = nothing) => cardTemplate(context, subject, beside);
}
