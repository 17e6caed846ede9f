// The details card of the stream: the cursor's token and its round.
import { html, nothing, render } from "lit-html";
import { when } from "lit-html/directives/when.js";
import type { Group } from "../lib/group";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import { eventWords, figure, glyphs, plural, temperatureWords, WHY } from "../lib/words";
import type { Pane } from "./pane";
import { characterOf } from "./text";

const MAX_ROWS = 40;

/** Draw into `card`: `hint()` without a token, `token(i, row, pinned)` a token with its draft row. */
export function streamCard({
  card,
  store,
  group,
  palette,
  pane,
  out,
}: {
  card: HTMLElement;
  store: Store;
  group: Group;
  palette: Palette;
  pane: Pane;
  out: HTMLElement;
}) {
  const { family, words: sourceWords, phrase: sourcePhrase } = palette;
  const { spans } = pane;
  function jump(label: string, step: number) {
    const act = () => {
      group.pin({ step });
      spans[store.index().events[step].token]?.scrollIntoView({ block: "nearest" });
      out.focus({ preventScroll: true });
    };
    return step >= 0 ? html`<button class="hsd-jump" @click=${act}>${label}</button>` : nothing;
  }
  /** Buttons to notable tokens. */
  function jumps() {
    let deepest = 0;
    let least = 1;
    for (const t of store.tokens) {
      deepest = Math.max(deepest, t.depth);
      if (t.p !== null && t.p < least) least = t.p;
    }
    const { events, stepOf } = store.index();
    const all = [
      jump(
        `Longest accepted draft (${deepest})`,
        deepest > 1 ? stepOf[store.tokens.findIndex((t) => t.depth === deepest)] : -1,
      ),
      jump(
        "First rejected draft",
        events.findIndex((e) => e.draft?.verdict === "rejected"),
      ),
      jump("Least likely token", least < 1 ? stepOf[store.tokens.findIndex((t) => t.p === least)] : -1),
    ];
    return html`<div class="hsd-jumps" role="group" aria-label="Go to">${all}</div>`;
  }
  const hint = () => {
    const words = store.tokens.length
      ? "Hover over a token to preview it; click or press Enter to pin it. ← → move by event, with Shift by round; Esc unpins."
      : "Tokens appear here as they are decoded.";
    render(
      html`<h3 class="hsd-card-title">Token details</h3><p class="hsd-hint">${words}</p>${when(store.tokens.length, jumps)}`,
      card,
    );
  };
  const facts = (pairs: string[][]) =>
    html`<div class="hsd-facts">${pairs.map(
      ([name, value, more]) =>
        html`<div title=${more ?? nothing}><span class="hsd-fact-name">${name}</span><span class="hsd-fact">${value}</span></div>`,
    )}</div>`;
  const bars = (title: string, top: [number, number][], chosen: number) =>
    html`<section class="hsd-top"><h4>${title}</h4>${top.map(
      ([id, p]) =>
        html`<div class="hsd-top-row ${id === chosen ? "hsd-chosen" : ""}">
          <code>${glyphs(store.pieces[id] ?? `#${id}`)}</code>
          <span class="hsd-track"><span class="hsd-fill" .style=${`width: ${Math.max(1, 100 * p)}%`}></span></span>
          <span class="hsd-num">${figure(p)}</span>
        </div>`,
    )}</section>`;
  /** What is known of a draft token: its numbers, and for a database the key it followed. */
  function draftFacts(d: Draft): string[][] {
    const known: [string, unknown, (v: never) => string][] = [
      ["p, verifier", d.p, figure],
      ["q, drafter", d.q, figure],
      ["u, drawn", d.u, figure],
      ["h, threshold", d.h, figure],
      ["key", d.key_length, (n: number) => plural(n, "token")],
      ["seen", d.count, (n: number) => `${n} ×`],
      ["score", d.score, figure],
      ["copied from", d.position, (n: number) => `position ${n}`],
    ];
    return known.filter(([, v]) => v !== null && v !== undefined).map(([name, v, write]) => [name, write(v as never)]);
  }
  const levelName = (l: number) => store.levels[l] ?? `level ${l}`;
  function roundTitle(r: Round) {
    if (r.drafted === 0) return "no draft";
    return `${plural(r.drafted, "token")} drafted, ${r.accepted} accepted`;
  }
  function story(t: Token, row: Draft | null) {
    if (t.kind === "accepted" && row) {
      const parts = [`Drafted by ${sourcePhrase(t.source)}`];
      if (row.key_length) parts.push(`after ${plural(row.key_length, "matching token")}`);
      if (row.position !== null) parts.push(`copied from position ${row.position}`);
      return `${parts.join(", ")}; accepted by the target at draft position ${t.depth}.`;
    }
    if (t.kind === "accepted")
      return `Drafted by ${sourcePhrase(t.source)}; accepted by the target at draft position ${t.depth}.`;
    if (t.kind === "correction") {
      const refused = (store.drafts.get(t.round) || []).find((d) => d.verdict === "rejected");
      const draft = refused
        ? `The target rejected “${glyphs(refused.text)}” from ${sourcePhrase(refused.source)}`
        : "No draft token was accepted here";
      return t.residual_top && t.q_top
        ? `${draft} and drew this token from the residual max(0, p − q).`
        : `${draft}; this is the target's own token.`;
    }
    if (t.kind === "bonus") return "The whole draft was accepted; the same forward pass gave this token.";
    return "Generated by the target without a draft.";
  }
  /** Describe a token that is only part of a character. */
  function partWords(i: number) {
    const raw = store.tokens[i].raw as string;
    const whole = characterOf(store.tokens, i);
    const words = `${plural(raw.length / 2, "byte")} of a character (${raw.match(/../g)?.join(" ")})`;
    if (!whole || whole.from === whole.to) return `${words}, not completed by adjacent tokens.`;
    return `${words}: tokens ${whole.from + 1} to ${whole.to + 1} form “${glyphs(whole.text)}”.`;
  }
  /** The round of a token; the scene of a round shows its whole draft. */
  function roundOf(t: Token) {
    const r = store.rounds.get(t.round);
    const drafts = store.drafts.get(t.round) || [];
    const hints = [temperatureWords(store.meta.sampling)];
    if (drafts.length && store.meta.sampling?.temperature === 0)
      hints.push("Greedy decoding: p is 1 for the target’s most likely token, else 0; q is 1 (point mass).");
    const chip = (d: Draft) =>
      html`<code class="hsd-ghost" data-verdict=${d.verdict === "rejected" ? nothing : d.verdict} data-family=${family(d.source)} title=${d.verdict}>${glyphs(d.text)}</code> `;
    return html`<section class="hsd-round">
      ${r && html`<h4>Round ${store.order.get(t.round)}: ${roundTitle(r)}</h4>`}
      ${r && r.drafted === 0 && r.why_no_draft ? html`<p class="hsd-why">No draft: ${r.why_no_draft} (${WHY[r.why_no_draft] || r.why_no_draft}).</p>` : nothing}
      <p class="hsd-drafts">${drafts.slice(0, MAX_ROWS).map(chip)}${drafts.length > MAX_ROWS ? ` and ${drafts.length - MAX_ROWS} more` : nothing}</p>
      ${hints.map((words) => words && html`<p class="hsd-hint">${words}</p>`)}
    </section>`;
  }
  function token(i: number, row: Draft | null, pinned: boolean) {
    const t = store.tokens[i];
    // Announce pinned tokens only, not hovered ones.
    card.setAttribute("aria-live", pinned ? "polite" : "off");
    const unpin = () => {
      group.pin(null);
      out.focus({ preventScroll: true });
    };
    const pairs = [
      ["token", `${i + 1} of ${store.tokens.length}`, `id in the vocabulary: ${t.token_id}`],
      ["round", `${store.order.get(t.round)} of ${store.order.size}`, `id in the trace: ${t.round}`],
      ["draft position", t.depth ? String(t.depth) : "–"],
      ["p at T = 1", figure(t.p)],
      ["entropy", t.entropy === null ? "–" : `${t.entropy.toFixed(2)} nats`],
      ...(row ? draftFacts(row) : []),
      ["path", t.path.map(levelName).join(" → ") || "–"],
    ];
    if (t.raw !== null) pairs.push(["bytes", t.raw]);
    const { step } = group.cursor;
    const event = store.index().events[step];
    const head = (source: string, text: string) =>
      html`<div class="hsd-card-head">
          <h3 data-family=${family(source)}><code class="hsd-big">${glyphs(text) || "∅"}</code></h3>
          <button class="hsd-close" ?hidden=${!pinned} @click=${unpin}>Unpin</button>
        </div>`;
    if (event?.draft?.verdict === "rejected") return rejected(event.draft, t, step, head, pinned);
    render(
      html`${head(t.source, t.text)}
        <p class="hsd-what">
          <span class="hsd-chip" data-family=${family(t.source)}>${sourceWords(t.source)}</span>
          <span class="hsd-tok hsd-kind" data-kind=${t.kind}>${t.kind}</span>
        </p>
        ${
          // The cursor may be on an event before this token was emitted.
          event && event.shown <= i ? html`<p class="hsd-event">${eventWords(store, palette, step)}</p>` : nothing
        }
        <p class="hsd-story">${story(t, row)}</p>
        ${when(t.raw !== null, () => html`<p class="hsd-why">${partWords(i)}</p>`)}
        ${facts(pairs)}
        ${when(pinned, jumps)}
        ${t.top && bars("Target's top 5 at temperature 1", t.top, t.token_id)}
        ${t.residual_top && bars(t.q_top ? "Residual, top 5" : "p without draft tokens, scaled to 1, top 5", t.residual_top, t.token_id)}
        ${t.q_top && bars("Drafter's q, top 5", t.q_top, t.token_id)}
        ${roundOf(t)}`,
      card,
    );
  }
  /** Describe a rejected draft token; `t` is the text's token at its position. */
  function rejected(
    d: Draft,
    t: Token,
    step: number,
    head: (source: string, text: string) => unknown,
    pinned: boolean,
  ) {
    const own = t.round === d.round && t.kind !== "accepted";
    const pairs = [
      ["round", `${store.order.get(d.round)} of ${store.order.size}`, `id in the trace: ${d.round}`],
      ["draft position", String(d.depth)],
      ...draftFacts(d),
    ];
    render(
      html`${head(d.source, d.text)}
        <p class="hsd-what">
          <span class="hsd-chip" data-family=${family(d.source)}>${sourceWords(d.source)}</span>
          <span class="hsd-kind">rejected</span>
        </p>
        <p class="hsd-event">${eventWords(store, palette, step)}</p>
        ${own ? html`<p class="hsd-story">${t.kind === "correction" ? "Correction" : "Next token"}: “${glyphs(t.text)}”.</p>` : nothing}
        ${facts(pairs)}
        ${when(pinned, jumps)}
        ${roundOf(t)}`,
      card,
    );
  }
  return { hint, token };
}
