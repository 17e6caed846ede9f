// The details card of the stream: the cursor's token and its round.

import type { Draft, Round, Token } from "../lib/contract";
import { focusable, make } from "../lib/dom";
import type { Group } from "../lib/group";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
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
  notes,
}: {
  card: HTMLElement;
  store: Store;
  group: Group;
  palette: Palette;
  pane: Pane;
  out: HTMLElement;
  notes: { get(i: number): string; set(i: number, text: string): void };
}) {
  const { family, words: sourceWords, phrase: sourcePhrase } = palette;
  const { place, spans } = pane;
  function jump(label: string, step: number) {
    if (step === undefined || step < 0) return null;
    const button = make("button", "hsd-jump", label);
    button.addEventListener("click", () => {
      group.pin({ step });
      spans[store.index().events[step].token]?.scrollIntoView({ block: "nearest" });
      out.focus({ preventScroll: true });
    });
    return button;
  }
  /** Buttons to notable tokens. */
  function jumpsOf() {
    const jumps = make("div", "hsd-jumps");
    jumps.setAttribute("role", "group");
    jumps.setAttribute("aria-label", "Go to");
    if (store.tokens.length) {
      let deepest = 0;
      let least = 1;
      for (const t of store.tokens) {
        deepest = Math.max(deepest, t.depth);
        if (t.p !== null && t.p < least) least = t.p;
      }
      const { events, stepOf } = store.index();
      for (const b of [
        deepest > 1 &&
          jump(`Longest accepted draft (${deepest})`, stepOf[store.tokens.findIndex((t) => t.depth === deepest)]),
        jump(
          "First rejected draft",
          events.findIndex((e) => e.draft?.verdict === "rejected"),
        ),
        least < 1 && jump("Least likely token", stepOf[store.tokens.findIndex((t) => t.p === least)]),
      ])
        if (b) jumps.append(b);
    }
    return jumps;
  }
  function hint() {
    const jumps = jumpsOf();
    card.replaceChildren(
      make("h3", "hsd-card-title", "Token details"),
      make(
        "p",
        "hsd-hint",
        store.tokens.length
          ? "Hover over a token to preview it; click or press Enter to pin it. ← → move by event, with Shift by round; / finds text; Esc unpins."
          : "Tokens appear here as they are decoded.",
      ),
      ...(jumps.children.length ? [jumps] : []),
    );
  }
  function facts(pairs: string[][]) {
    const list = make("div", "hsd-facts");
    for (const [k, v, more] of pairs) {
      const cell = make("div");
      if (more) cell.title = more;
      cell.append(make("span", "hsd-fact-name", k), make("span", "hsd-fact", v));
      list.append(cell);
    }
    return list;
  }
  function bars(title: string, top: [number, number][], chosen: number) {
    const box = make("section", "hsd-top");
    box.append(make("h4", "", title));
    for (const [id, p] of top) {
      const row = make("div", "hsd-top-row");
      if (id === chosen) row.classList.add("hsd-chosen");
      const track = make("span", "hsd-track");
      const fill = make("span", "hsd-fill");
      fill.style.width = `${Math.max(1, 100 * p)}%`;
      track.append(fill);
      row.append(make("code", "", glyphs(store.pieces[id] ?? `#${id}`)), track, make("span", "hsd-num", figure(p)));
      box.append(row);
    }
    return box;
  }
  function table(drafts: Draft[], mine: Draft | null) {
    const wrap = focusable(make("div", "hsd-table")); // may be wider than the card
    wrap.setAttribute("role", "group");
    wrap.setAttribute("aria-label", "Draft tokens");
    const t = make("table");
    const has = (k: keyof Draft) => drafts.some((d) => d[k] !== null && d[k] !== undefined);
    const columns: [string, ((d: Draft) => string | number) | null][] = [
      ["verdict", (d: Draft) => VERDICT_MARKS[d.verdict] || d.verdict],
      ["token", null],
      ["source", (d: Draft) => d.source],
      ["p", (d: Draft) => figure(d.p)],
      ["q", (d: Draft) => figure(d.q)],
    ];
    if (has("u")) columns.push(["u", (d) => figure(d.u)]);
    if (has("h")) columns.push(["h", (d) => figure(d.h)]);
    if (has("key")) columns.push(["key", (d) => d.key ?? "–"]);
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
    const top = make("tr");
    for (const [name] of columns) {
      const th = make("th");
      th.append(make("span", name === "verdict" ? "hsd-heard" : "", name));
      th.scope = "col";
      if (titles[name]) th.title = titles[name];
      top.append(th);
    }
    const thead = make("thead");
    thead.append(top);
    const tbody = make("tbody");
    for (const d of drafts.slice(0, MAX_ROWS)) {
      const tr = make("tr");
      tr.dataset.verdict = d.verdict;
      if (d === mine) tr.classList.add("hsd-mine");
      for (const [name, value] of columns) {
        const td = make("td", name === "verdict" ? "hsd-mark" : "", value ? String(value(d)) : undefined);
        if (name === "verdict") td.setAttribute("aria-label", d.verdict);
        if (name === "token") {
          const code = make("code", "", glyphs(d.text));
          code.dataset.family = family(d.source);
          td.style.paddingLeft = `${Math.min(8, d.depth - 1) * 7 + 4}px`;
          td.append(code);
        }
        tr.append(td);
      }
      const from = place(d.position);
      if (from) {
        tr.addEventListener("pointerenter", () => from.classList.add("hsd-lit2"));
        tr.addEventListener("pointerleave", () => from.classList.remove("hsd-lit2"));
      }
      tbody.append(tr);
    }
    t.append(thead, tbody);
    wrap.append(t);
    if (drafts.length > MAX_ROWS) wrap.append(make("p", "hsd-hint", `and ${drafts.length - MAX_ROWS} more`));
    return wrap;
  }
  const levelName = (l: number) => store.levels[l] ?? `level ${l}`;
  function roundTitle(r: Round) {
    if (r.drafted === 0) return "no draft";
    return `${plural(r.drafted, "token")} drafted, ${r.accepted} accepted`;
  }
  function below(roundId: number, into: HTMLElement, depth: number) {
    for (const child of store.children.get(roundId) || []) {
      if (depth < 8) below(child, into, depth + 1);
      const r = store.rounds.get(child) as Round;
      const drafts = store.drafts.get(child) || [];
      const box = make("details", "hsd-below");
      box.append(make("summary", "", `${levelName(r.level)} verified: ${roundTitle(r)}, ${r.outcome}`));
      if (drafts.length) box.append(table(drafts, null));
      into.append(box);
    }
  }
  function story(t: Token, row: Draft | null) {
    if (t.kind === "accepted" && row) {
      const parts = [`Drafted by ${sourcePhrase(t.source)}`];
      if (row.key) parts.push(`after ${plural(row.key, "matching token")}`);
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
      return t.residual && t.q
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
  /** The note of a token: a field if the token is pinned. */
  function noteOf(i: number, pinned: boolean) {
    if (!pinned) return make("p", "hsd-note-text", notes.get(i));
    const label = make("label", "hsd-note-field", "Note, saved with the trace");
    const field = make("textarea");
    field.rows = 2;
    field.maxLength = 1000;
    field.value = notes.get(i);
    field.addEventListener("change", () => notes.set(i, field.value.trim()));
    label.append(field);
    return label;
  }
  function token(i: number, row: Draft | null, pinned: boolean) {
    const t = store.tokens[i];
    const r = store.rounds.get(t.round);
    // Announce pinned tokens only, not hovered ones.
    card.setAttribute("aria-live", pinned ? "polite" : "off");
    const head = make("div", "hsd-card-head");
    const big = make("h3");
    big.append(make("code", "hsd-big", glyphs(t.text) || "∅"));
    big.dataset.family = family(t.source);
    const close = make("button", "hsd-close", "Unpin");
    close.hidden = !pinned;
    close.addEventListener("click", () => {
      group.pin(null);
      out.focus({ preventScroll: true });
    });
    head.append(big, close);
    const what = make("p", "hsd-what");
    const chip = make("span", "hsd-chip", sourceWords(t.source));
    chip.dataset.family = family(t.source);
    const kind = make("span", "hsd-tok hsd-kind", t.kind);
    kind.dataset.kind = t.kind;
    what.append(chip, " ", kind);
    const pairs = [
      ["token", `${i + 1} of ${store.tokens.length}`, `id in the vocabulary: ${t.id}`],
      ["round", `${store.order.get(t.round)} of ${store.order.size}`, `id in the trace: ${t.round}`],
      ["draft position", t.depth ? String(t.depth) : "–"],
      ["p at T = 1", figure(t.p)],
      ["entropy", t.entropy === null ? "–" : `${t.entropy.toFixed(2)} nats`],
      ["path", t.path.map(levelName).join(" → ") || "–"],
    ];
    if (t.raw !== null) pairs.push(["bytes", t.raw]);
    const { events } = store.index();
    const event = events[group.cursor.step];
    card.replaceChildren(head, what);
    // The cursor may be on an event before this token was emitted.
    if (event && event.shown <= i) card.append(make("p", "hsd-event", eventWords(store, palette, group.cursor.step)));
    card.append(make("p", "hsd-story", story(t, row)));
    if (t.raw !== null) card.append(make("p", "hsd-why", partWords(i)));
    card.append(facts(pairs));
    if (pinned || notes.get(i)) card.append(noteOf(i, pinned));
    if (pinned) card.append(jumpsOf());
    if (t.top) card.append(bars("Target's top 5 at temperature 1", t.top, t.id));
    if (t.residual)
      card.append(bars(t.q ? "Residual, top 5" : "p without draft tokens, scaled to 1, top 5", t.residual, t.id));
    if (t.q) card.append(bars("Drafter's q, top 5", t.q, t.id));
    const drafts = store.drafts.get(t.round) || [];
    const section = make("section", "hsd-round");
    if (r) {
      section.append(make("h4", "", `Round ${store.order.get(t.round)}: ${roundTitle(r)}`));
      if (r.drafted === 0 && r.why)
        section.append(make("p", "hsd-why", `No draft: ${r.why} (${WHY[r.why] || r.why}).`));
    }
    if (drafts.length) section.append(table(drafts, row));
    const scaled = temperatureWords(store.meta.sampling);
    if (scaled) section.append(make("p", "hsd-hint", scaled));
    if (drafts.length && store.meta.sampling?.temperature === 0)
      section.append(
        make(
          "p",
          "hsd-hint",
          "Greedy decoding: p is 1 for the target’s most likely token, else 0; q is 1 (point mass).",
        ),
      );
    below(t.round, section, 0);
    card.append(section);
  }
  return { hint, token };
}
