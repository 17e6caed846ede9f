// The card of a token, in the text and in the scene of a round: its source, its verdict and the
// reason, with the recorded numbers.
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
  temperatureText,
} from "./words";

/** A verdict on a token: the round, and the token's row of its draft. */
export interface JudgedToken {
  round: Round;
  draft: Draft;
}
/** The token of a card: a draft token with its last verdict, or a round's own token. */
export interface Subject {
  text: string;
  source: string;
  judged: JudgedToken[];
  /** The round whose own token this is; null: a draft token. */
  own: Round | null;
  /** The token's row in the text; null: it was not emitted. */
  token: Token | null;
  /** Position in the text for which it was proposed. */
  at?: number;
}
type Fact = [name: string, value: unknown];

/**
 * Write the comparison that led to a verdict, with the recorded numbers. "" if no numbers were
 * compared, or if the rule is of another package.
 */
export function lineOf({ verdict, u, h, p, q }: Draft, rule: string): string {
  if (!RULES.includes(rule)) return "";
  // Take the sign from the recorded verdict, since six digits may not distinguish the two sides.
  const sign = verdict === "rejected" ? "≥" : "<";
  if (u !== null && typeof h === "number") {
    const digits = digitsFor(u, h);
    return `u = ${precise(u, digits)} ${sign} ${precise(h, digits)} = h`;
  }
  if (u === null || p === null || q === null) return "";
  const f = (x: number) => precise(x, digitsFor(u * q, p));
  return `u · q = ${f(u)} × ${f(q)} = ${f(u * q)} ${sign} ${f(p)} = p`;
}

/** The block rule; docs/explanation/hierarchies.md explains it with a picture. */
const H_IN_THREE_LINES = html`<details class="hsd-note">
  <summary>What is h?</summary>
  w, from 1: at each token w = min(1, w·p/q).<br />s: the sum of max(0, w·p − q) over the rows after
  it.<br />
  h = s/(s + 1 − w); at the last token h = w. The last u &lt; h ends what is accepted.
</details>`;

/** Return whether a sampled token was accepted by u < h. */
const byBlock = ({ round, draft }: JudgedToken) => isWhole(round.rule) && draft.u !== null;

/** Continues the run from position `at` with another token; null: not available on this page. */
type Continue = ((at: number, text: string) => void) | null;

/** The run, colours and actions that cards use. */
interface Context {
  store: Store;
  palette: Palette;
  /** Highlight a position of the text. */
  light(position: number): void;
  branch(): Continue;
}

const isGreedy = ({ meta }: Store) => meta.sampling?.temperature === 0;
const isAccepted = ({ verdict }: Draft) => verdict === "accepted";

/**
 * Describe the probability that the verifier draws the draft token. It decides if the draft was not
 * sampled.
 */
function chanceText(store: Store, { p, verdict }: Draft): string {
  if (isGreedy(store) || p === null) return "";
  const fate = verdict === "rejected" ? "; this draw failed" : "";
  const percent = (100 * p).toFixed(1);
  const share = p < 1 && percent === "100.0" ? "> 99.9" : percent;
  return ` The chance of acceptance was ${share} %${fate}.`;
}

/** Explain why a draft token was accepted. */
function acceptedText(store: Store, { round, draft }: JudgedToken): string {
  if (byBlock({ round, draft }))
    return "Accepted: the last position with u < h is this one or a later one.";
  if (draft.u !== null) return "Accepted: u·q < p.";
  return `Accepted: ${store.actor(round)} has the same token.${chanceText(store, draft)}`;
}
/** Explain why a draft token was rejected. */
function rejectedText(store: Store, { round, draft }: JudgedToken): string {
  if (byBlock({ round, draft })) return "Rejected: no position from here on has u < h.";
  if (draft.u !== null) return "Rejected: u·q ≥ p.";
  return `Rejected: ${store.actor(round)} has another token.${chanceText(store, draft)}`;
}
/** Explain why a draft token was not examined. */
function unreachedText(store: Store, { round, draft }: JudgedToken): string {
  const siblings = (store.drafts.get(round.id) ?? []).filter(
    (other) => other.parent === draft.parent,
  );
  if (siblings.some(isAccepted)) return "Not examined: another branch was accepted.";
  return "Not examined: an earlier token was rejected, or the text ended.";
}

/** Explain the verdict on a draft token. */
function verdictText(store: Store, verified: JudgedToken): string {
  const { rule } = verified.round;
  const { verdict } = verified.draft;
  const isDecided = verdict === "accepted" || verdict === "rejected";
  if (isDecided && !RULES.includes(rule))
    return `${capital(verdict)} by the rule “${rule}” of another package.`;
  if (verdict === "accepted") return acceptedText(store, verified);
  if (verdict === "rejected") return rejectedText(store, verified);
  if (verdict === "cut") return "Cut: it matched, but the text ended before this position.";
  return unreachedText(store, verified);
}

/** Explain how a round drew its own token. */
function ownText({ store, palette }: Context, round: Round): string {
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

/** The facts of a draft token; p and q only without the ruler that shows them. */
function draftFacts({ store, light }: Context, { draft, round }: JudgedToken): Fact[] {
  const jump = (at: number) =>
    html`<button title="Show the copied text" @click=${() => light(at)}>
      position ${at}
    </button>`;
  const greedy = isGreedy(store) ? " (greedy)" : "";
  const hasRuler = !greedy && rulerOf(draft, round.rule)?.bars[0][0] === "p";
  const figures: [string, number | null, (x: number) => unknown][] = [
    ["draft position", draft.depth, String],
    ["p, verifier", hasRuler ? null : draft.p, (x) => `${precise(x)}${greedy}`],
    ["q, drafter", hasRuler ? null : draft.q, precise],
    ["u, drawn", draft.u, precise],
    ["h, threshold", draft.h, precise],
    ["key", draft.key_length, (x) => plural(x, "token")],
    ["seen", draft.count, (x) => `${x} ×`],
    ["score", draft.score, figure],
    ["copied from", draft.position, jump],
    ["similarity of states", draft.cosine, figure],
  ];
  return figures.flatMap(([name, x, write]): Fact[] =>
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

/** A token of a distribution. One that was not emitted can continue the run at position `at`. */
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

/** The most likely tokens at a position, with their probabilities as bars. */
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

/** The most likely tokens at a position: by the target, in the residual, and by the drafter. */
function topsOf(context: Context, { top, q_top, residual_top, token_id, index }: Token) {
  const heading = q_top ? "Residual, top 5" : "p without draft tokens, scaled to 1, top 5";
  return [
    bars(context, "Target’s top 5 at temperature 1", top, token_id, index),
    bars(context, heading, residual_top, token_id),
    bars(context, "Drafter’s q, top 5", q_top, token_id),
  ];
}

/** A button that continues the run with a rejected token in place of the one drawn. */
function instead({ branch }: Context, { text, judged, at }: Subject) {
  const go = branch();
  if (!go || at === undefined || judged.at(-1)?.draft.verdict !== "rejected") return nothing;
  return html`<p>
    <button class="hsd-continue" @click=${() => go(at, text)}>
      Continue with “${glyphs(text)}” instead
    </button>
  </p>`;
}

/** Explain why a token is in the text or not, and its earlier verdicts. */
function storyOf(context: Context, { judged, own }: Subject): string {
  const { store } = context;
  const last = judged.at(-1);
  const words: string[] = [];
  if (last) words.push(verdictText(store, last));
  else if (own) words.push(ownText(context, own));
  if (last && own) words.push(`${capital(store.actor(own))} added it: ${own.outcome}.`);
  for (const { round, draft } of judged.slice(0, -1)) {
    const chance = draft.p === null ? "" : `, p ${figure(draft.p)}`;
    words.push(`${capital(store.actor(round))} accepted it${chance}.`);
  }
  return words.join(" ");
}

/** Explain which p the card shows. */
function noteOf(store: Store, token: Token | null): string {
  if (isGreedy(store))
    return "Greedy decoding: p is 1 for the verifier’s most likely token and 0 for all others.";
  return token ? temperatureText(store.meta.sampling) : "";
}

/** What a verdict compared: bars from 0 to 1, and the number that decides; null: none was drawn. */
export interface Ruler {
  bars: [name: string, value: number][];
  mark: [name: string, value: number] | null;
}
/** Return what the verdict on a draft token compared; null: no numbers. */
export function rulerOf({ u, h, p, q }: Draft, rule: string): Ruler | null {
  if (!RULES.includes(rule)) return null;
  if (u !== null && typeof h === "number") return { bars: [["h", h]], mark: ["u", u] };
  if (p === null) return null;
  const bars: Ruler["bars"] = [["p", p]];
  if (q !== null) bars.push(["q", q]);
  return { bars, mark: u === null || q === null ? null : ["u·q", u * q] };
}

/** A ruler: the token is accepted if the mark is within the first bar. */
function rulerTemplate({ bars, mark }: Ruler) {
  const percent = (x: number) => `${100 * Math.min(1, x)}%`;
  const bar = ([name, value]: [string, number]) =>
    html`<i>${name}</i
      ><span class="hsd-track"
        ><span class="hsd-fill" .style=${`width: ${percent(value)}`}></span></span
      ><span class="hsd-num">${precise(value)}</span>`;
  return html`<div class="hsd-ruler" data-bars=${bars.length}>
    ${bars.map(bar)}${
      mark
        ? html`<i>${mark[0]}</i
            ><span class="hsd-ruler-mark" .style=${`--at: ${percent(mark[1])}`}></span
            ><span class="hsd-num">${precise(mark[1])}</span>`
        : nothing
    }
  </div>`;
}

/** The comparison behind a verdict, with a note on its rule. */
function comparison(store: Store, verified: JudgedToken) {
  const { draft, round } = verified;
  const line = lineOf(draft, round.rule);
  const ruler = isGreedy(store) ? null : rulerOf(draft, round.rule);
  return html`${ruler ? rulerTemplate(ruler) : nothing}${
    line ? html`<p class="hsd-sum">${line}</p>` : nothing
  }${byBlock(verified) ? H_IN_THREE_LINES : nothing}`;
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

/** The card of a token; `beside`: content after its name. */
function cardTemplate(context: Context, subject: Subject, beside: unknown) {
  const { store, palette } = context;
  const { text, source, judged, own, token } = subject;
  const last = judged.at(-1);
  const family = palette.family(source);
  const kind = last ? last.draft.verdict : (own?.outcome ?? "");
  const facts = [
    ...(last ? draftFacts(context, last) : []),
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
    ${last ? comparison(store, last) : nothing} ${factsTemplate(facts)}
    ${instead(context, subject)}${token ? topsOf(context, token) : nothing}
    ${note ? html`<p class="hsd-note">${note}</p>` : nothing}`;
}

/** Return a function that draws the card of a token of a run, with `beside` after its name. */
export function createCard(
  store: Store,
  palette: Palette,
  light: (position: number) => void,
  branch: () => Continue = () => null,
) {
  const context: Context = { store, palette, light, branch };
  return (subject: Subject, beside: unknown = nothing) => cardTemplate(context, subject, beside);
}
