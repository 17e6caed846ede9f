// You are the drafter: the text stops, the visitor proposes the next tokens, the recorded target verifies them (game.ts).
import { html, nothing, render, svg } from "lit-html";
import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import { figure, glyphs, plural } from "../lib/words";
import { afterPasses, choicesAt, MOST, type Proposed, type Result, verify } from "./game";

/** Recorded runs of the same prompt: their stacks, and the tokens of each target round. */
interface Traits {
  others: { name: string; counts: number[] }[];
}
/** Characters of the text before the place. */
const TAIL = 220;
const SIZE = { height: 190, left: 34, right: 128, top: 12, bottom: 24 };

function drafterView({ model, root, group, store, follow }: View<Traits>) {
  root.classList.add("hsd-drafter");
  const plot = make("div", "hsd-df-plot");
  let at = 0;
  let proposal: Proposed[] = [];
  /** Tokens after each of the visitor's passes. */
  let passes: number[] = [];
  let mine: Set<number> = new Set();
  let result: Result | null = null;

  function restart() {
    at = 0;
    proposal = [];
    passes = [];
    mine = new Set();
    result = null;
  }
  const done = () => at >= store.tokens.length;
  function go() {
    result = verify(store, at, proposal);
    for (let k = at; k < result.own; k++) mine.add(k);
    at = result.own + 1;
    passes.push(at);
    proposal = [];
    // The text above stops here.
    group.scrub(store.index().stepOf[at - 1] ?? 0);
    paint();
  }
  const add = (part: Proposed) => {
    if (part.text === "" && part.id === null) return;
    proposal.push(part);
    paint();
  };
  /** Place of the next proposal, as long as all so far follow the text. */
  const ahead = () => at + proposal.filter((part) => part.id !== null).length;

  function picture() {
    const others = [
      { name: "you", counts: passes.map((n, k) => n - (passes[k - 1] ?? 0)), you: true },
      ...(model.get("others") ?? []).filter((r) => r.name !== store.meta.stack),
      { name: store.meta.stack || "this run", counts: store.index().rounds.map((r) => r.count) },
    ] as { name: string; counts: number[]; you?: boolean }[];
    const width = Math.max(280, plot.clientWidth || 520);
    const most = Math.max(6, passes.length + 2);
    const shown = others.map((r) => ({
      ...r,
      ends: Array.from({ length: Math.min(most, r.counts.length) + 1 }, (_, k) => afterPasses(r.counts, k)),
    }));
    const top = Math.max(6, ...shown.flatMap((r) => r.ends));
    const x = (n: number) => SIZE.left + (n / most) * (width - SIZE.left - SIZE.right);
    const y = (n: number) => SIZE.height - SIZE.bottom - (n / top) * (SIZE.height - SIZE.top - SIZE.bottom);
    const path = (ends: number[]) =>
      ends.map((n, k) => (k ? `H${x(k).toFixed(1)}V${y(n).toFixed(1)}` : `M${x(0)} ${y(0)}`)).join("");
    // Labels at the ends, without overlap.
    const places = shown.map((r, k) => ({ k, y: y(r.ends[r.ends.length - 1]) })).sort((a, b) => a.y - b.y);
    places.forEach((p, k) => {
      if (k) p.y = Math.max(p.y, places[k - 1].y + 15);
    });
    const label = new Map(places.map((p) => [p.k, p.y]));
    render(
      svg`<svg width=${width} height=${Math.max(SIZE.height, ...places.map((p) => p.y + 8))} aria-hidden="true">
        <line class="hsd-df-axis" x1=${SIZE.left} x2=${width - SIZE.right} y1=${y(0)} y2=${y(0)}></line>
        <text x=${SIZE.left} y=${SIZE.height - 6}>0</text><text x=${x(most)} y=${SIZE.height - 6} text-anchor="end">${plural(most, "target pass")}</text>
        <text x=${SIZE.left - 6} y=${y(top) + 8} text-anchor="end">${top}</text>
        <path class="hsd-df-plain" d=${`M${x(0)} ${y(0)}L${x(most)} ${y(most)}`}></path>
        ${[...shown.entries()].reverse().map(
          ([k, r]) => svg`<path class=${r.you ? "hsd-df-you" : "hsd-df-other"} d=${path(r.ends)}></path>
            <text class=${r.you ? "hsd-df-name hsd-you" : "hsd-df-name"} x=${x(r.ends.length - 1) + 6} y=${(label.get(k) ?? 0) + 4}>${r.name.length > 20 ? `${r.name.slice(0, 19)}…` : r.name}</text>`,
        )}
      </svg>`,
      plot,
    );
    const n = passes.length;
    return n
      ? `You: ${plural(at, "token")} in ${plural(n, "pass")}, ${(at / n).toFixed(2)} per pass. In as many passes: ${[
          ...shown.slice(1).map((r) => `${r.name} ${afterPasses(r.counts, n)}`),
          `plain ${n}`,
        ].join(", ")}.`
      : "Each verification is one pass of the target. Plain decoding gains one token per pass.";
  }
  function paint() {
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const text = [
      ...store.promptIds.map((id) => ({ text: store.pieces[id] ?? "", kind: "" })),
      ...store.tokens
        .slice(0, at)
        .map((t, k) => ({ text: t.text, kind: mine.has(k) ? "hsd-df-mine" : passes.length ? "hsd-df-own" : "" })),
    ];
    let length = 0;
    const tail = text.filter((_, k) => {
      length = text.slice(k).reduce((s, t) => s + t.text.length, 0);
      return length <= TAIL;
    });
    const words = picture();
    const full =
      ahead() - at >= MOST || proposal.some((part) => part.id === null) || ahead() >= store.tokens.length - 1;
    const submit = (e: Event) => {
      e.preventDefault();
      const field = (e.target as HTMLFormElement).elements.namedItem("text") as HTMLInputElement;
      add({ id: null, text: field.value });
      field.value = "";
    };
    render(
      html`<h3>You are the drafter</h3>
        <p class="hsd-df-note">Propose the next tokens. The target verifies them in one pass, accepts those that it would have written itself, and adds one of its own.</p>
        <div class="hsd-df-body"><div>
          <pre class="hsd-df-text" tabindex="0" aria-label="Text so far">${tail.length < text.length ? "…" : ""}${tail.map((t) => html`<span class=${t.kind}>${t.text}</span>`)}${proposal.map(
            (part) => html`<mark>${part.text}</mark>`,
          )}<span class="hsd-df-caret" aria-hidden="true"></span></pre>
          ${
            done()
              ? html`<p>The recorded text ends here.</p>`
              : html`<div class="hsd-df-choices" role="group" aria-label="Next token">${
                  full
                    ? nothing
                    : choicesAt(store, ahead()).map(
                        (c) => html`<button @click=${() => add(c)}><code>${glyphs(c.text) || "∅"}</code></button>`,
                      )
                }</div>
                <form class="hsd-df-form" @submit=${submit}>
                  <input name="text" autocomplete="off" spellcheck="false" aria-label="Type the next text" placeholder="or type the next text" maxlength="80" ?disabled=${full} />
                  <button ?disabled=${full}>Add</button>
                </form>`
          }
          <div class="hsd-df-form">
            <button class="hsd-df-go" ?disabled=${done()} @click=${go}>Verify ${proposal.length ? "" : "nothing: one plain token"}</button>
            <button ?disabled=${!proposal.length} @click=${() => {
              proposal.pop();
              paint();
            }}>Undo</button>
            <button ?disabled=${!passes.length} @click=${() => {
              restart();
              group.release();
              paint();
            }}>Start again</button>
          </div>
          <p class="hsd-df-result" role="status">${
            result &&
            html`Accepted ${result.accepted}${result.rejected ? html`; rejected “${glyphs(result.rejected.text)}”${result.rejected.p === null ? nothing : ` (p ${figure(result.rejected.p)})`}` : nothing}. The target’s own token: “${glyphs(store.tokens[result.own]?.text ?? "")}”.`
          }</p>
        </div><div>${plot}<p class="hsd-df-note">${words}</p></div></div>
        <p class="hsd-df-note">Recorded run: a proposal is compared with the token that the target drew at each place, so the text is that of the run. Choices are from the recorded rows of that text, in the order of their ids. p is at temperature 1. Your own time is not counted.</p>`,
      root,
    );
  }
  let run = store.run;
  follow((what) => {
    if (what === "reset" && store.run !== run) restart();
    run = store.run;
    paint();
  });
  model.on("change:others", paint);
  const resized = new ResizeObserver(() => paint());
  resized.observe(plot);
  paint();
  return () => {
    resized.disconnect();
    model.off("change:others", paint);
  };
}
export default linkedWidget(drafterView);
