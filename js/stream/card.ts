// The details card of the stream: the cursor's token and its round.
import { html, nothing, render } from "lit-html";
import { when } from "lit-html/directives/when.js";
import type { Group } from "../lib/group";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import { eventWords, figure, glyphs, plural, temperatureWords, VERDICT_MARKS, WHY } from "../lib/words";
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
  const { place, spans } = pane;
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
  function table(drafts: Draft[], mine: Draft | null) {
    const has = (k: keyof Draft) => drafts.some((d) => d[k] !== null && d[k] !== undefined);
    const columns: [string, (d: Draft) => string | number][] = [
      ["p", (d) => figure(d.p)],
      ["q", (d) => figure(d.q)],
    ];
    if (has("u")) columns.push(["u", (d) => figure(d.u)]);
    if (has("h")) columns.push(["h", (d) => figure(d.h)]);
    if (has("key_length")) columns.push(["key", (d) => d.key_length ?? "–"]);
    if (has("count")) columns.push(["count", (d) => d.count ?? "–"]);
    if (has("score")) columns.push(["score", (d) => figure(d.score)]);
    if (has("recut")) columns.push(["cut from", (d) => d.recut?.map(glyphs).join(" + ") || "–"]);
    if (has("position")) columns.push(["from", (d) => d.position ?? "–"]);
    const titles: Record<string, string> = {
      p: "the verifier's probability, as sampled",
      q: "the drafter's probability, as sampled",
      u: has("h")
        ? "uniform draw: accepted up to the last position with u < h"
        : "uniform draw: accepted where u·q < p",
      h: "threshold of block verification",
      key: "matched text tokens",
      count: "count in the database",
      score: "estimated acceptance",
      "cut from": "the draft model's own tokens: it has another tokenizer",
      from: "copied text position",
    };
    const head = ([name]: [string, unknown]) => html`<th scope="col" title=${titles[name]}><span>${name}</span></th>`;
    const row = (d: Draft) => {
      const from = place(d.position);
      const lit = (on: boolean) => () => from?.classList.toggle("hsd-lit2", on);
      return html`<tr
        class=${d === mine ? "hsd-mine" : ""} data-verdict=${d.verdict}
        @pointerenter=${lit(true)} @pointerleave=${lit(false)}
      >
        <td class="hsd-mark" aria-label=${d.verdict}>${VERDICT_MARKS[d.verdict] || d.verdict}</td>
        <td .style=${`padding-left: ${Math.min(8, d.depth - 1) * 7 + 4}px`}>
          <code data-family=${family(d.source)}>${glyphs(d.text)}</code>
        </td>
        <td>${d.source}</td>${columns.map(([, value]) => html`<td>${value(d)}</td>`)}
      </tr>`;
    };
    // Focusable, because it may be wider than the card.
    return html`<div class="hsd-table" tabindex="0" role="group" aria-label="Draft tokens">
      <table>
        <thead><tr>
          <th scope="col"><span class="hsd-heard">verdict</span></th>
          <th scope="col"><span>token</span></th><th scope="col"><span>source</span></th>${columns.map(head)}
        </tr></thead>
        <tbody>${drafts.slice(0, MAX_ROWS).map(row)}</tbody>
      </table>
      ${when(drafts.length > MAX_ROWS, () => html`<p class="hsd-hint">and ${drafts.length - MAX_ROWS} more</p>`)}
    </div>`;
  }
  const levelName = (l: number) => store.levels[l] ?? `level ${l}`;
  function roundTitle(r: Round) {
    if (r.drafted === 0) return "no draft";
    return `${plural(r.drafted, "token")} drafted, ${r.accepted} accepted`;
  }
  function below(roundId: number, depth = 0): unknown[] {
    return (store.children.get(roundId) || []).flatMap((child) => {
      const r = store.rounds.get(child) as Round;
      const drafts = store.drafts.get(child) || [];
      const words = `${levelName(r.level)} verified: ${roundTitle(r)}, ${r.outcome}`;
      const box = html`<details class="hsd-below"><summary>${words}</summary>${when(drafts.length, () => table(drafts, null))}</details>`;
      return [...(depth < 8 ? below(child, depth + 1) : []), box];
    });
  }
  function story(t: Token, row: Draft | null) {
    if (t.kind === "accepted" && row) {
      const parts = [`Drafted by ${sourcePhrase(t.source)}`];
      if (row.key_length) parts.push(`after ${plural(row.key_length, "matching token")}`);
      if (row.recut?.length) parts.push(`cut from its own ${row.recut.map((t) => `“${glyphs(t)}”`).join(" + ")}`);
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
  function roundOf(t: Token, row: Draft | null) {
    const r = store.rounds.get(t.round);
    const drafts = store.drafts.get(t.round) || [];
    const hints = [temperatureWords(store.meta.sampling)];
    if (drafts.length && store.meta.sampling?.temperature === 0)
      hints.push("Greedy decoding: p is 1 for the target’s most likely token, else 0; q is 1 (point mass).");
    return html`<section class="hsd-round">
      ${r && html`<h4>Round ${store.order.get(t.round)}: ${roundTitle(r)}</h4>`}
      ${r && r.drafted === 0 && r.why_no_draft ? html`<p class="hsd-why">No draft: ${r.why_no_draft} (${WHY[r.why_no_draft] || r.why_no_draft}).</p>` : nothing}
      ${when(drafts.length, () => table(drafts, row))}
      ${hints.map((words) => words && html`<p class="hsd-hint">${words}</p>`)}
      ${below(t.round)}
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
        ${roundOf(t, row)}`,
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
      ["p", figure(d.p)],
      ["q", figure(d.q)],
      ["u", figure(d.u)],
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
        ${roundOf(t, d)}`,
      card,
    );
  }
  return { hint, token };
}
