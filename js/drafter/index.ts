// You are the drafter: the text stops, the visitor proposes the next tokens, the target verifies them (game.ts): the recorded one, or on
// a page that decodes the real one, after any prompt.
import { html, nothing, render, svg } from "lit-html";
import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Store } from "../lib/run";
import { figure, glyphs, plural } from "../lib/words";
import { afterPasses, choicesAt, MOST, type Proposed, type Result, verify } from "./game";

interface Traits {
  /** Recorded runs of the same prompt: their stacks, and the tokens of each target round. */
  others: { name: string; counts: number[] }[];
  /** Decode a stack after a text ("": the form's prompt); null: this page cannot. */
  live?: ((prompt: string, stack: string, tokens: number) => Promise<Store>) | null;
}
/** Characters of the text before the place. */
const TAIL = 220;
const SIZE = { height: 190, left: 34, right: 128, top: 12, bottom: 24 };
/** Stacks that a live game races, and their tokens. */
const [RACERS, RACER_TOKENS] = [["db > target", "nano:4 > target"], 48];
type Mode = "recorded" | "waiting" | "live";

function drafterView({ model, root, group, store, follow }: View<Traits>) {
  root.classList.add("hsd-drafter");
  const plot = make("div", "hsd-df-plot");
  let mode: Mode = "recorded";
  let trouble = "";
  /** The run whose target verifies, and the place in it. */
  let [run, at] = [store as Store, 0];
  let prompt = "";
  let written: { text: string; kind: string }[] = [];
  let proposal: Proposed[] = [];
  /** Tokens after each of the visitor's passes. */
  let passes: number[] = [];
  let result: { found: Result; own: string } | null = null;
  let racers: Traits["others"] = [];
  const live = () => model.get("live") ?? null;

  function restart(next: Mode = "recorded") {
    mode = next;
    [run, at, prompt, trouble] = [store, 0, store.prompt, ""];
    written = [];
    proposal = [];
    passes = [];
    result = null;
    racers = [];
  }
  const done = () => mode !== "waiting" && at >= run.tokens.length;
  const failed = (error: unknown) => {
    trouble = error instanceof Error ? error.message : String(error);
    mode = passes.length ? "live" : "recorded";
    paint();
  };
  /** Begin a game on the form's prompt: the target's first tokens are the choices. */
  async function begin() {
    const decode = live();
    if (!decode) return;
    restart("waiting");
    paint();
    try {
      run = await decode("", "target", MOST + 2);
      prompt = run.prompt;
      mode = "live";
      paint();
      for (const stack of RACERS) {
        const counts = (await decode(prompt, stack, RACER_TOKENS)).index().rounds.map((r) => r.count);
        if ((mode as Mode) === "recorded") return;
        racers = [...racers, { name: stack, counts }];
        paint();
      }
    } catch (error) {
      failed(error);
    }
  }
  async function go() {
    const decode = mode === "live" ? live() : null;
    let proposed = proposal;
    if (decode) {
      mode = "waiting";
      paint();
      try {
        run = await decode(prompt + written.map((t) => t.text).join(""), "target", MOST + 2);
      } catch (error) {
        return failed(error);
      }
      mode = "live";
      at = 0;
      // The text before may be cut into other tokens.
      proposed = [{ id: null, text: proposal.map((p) => p.text).join("") }];
    }
    const found = verify(run, at, proposed);
    for (let k = at; k <= found.own && run.tokens[k]; k++)
      written.push({ text: run.tokens[k].text, kind: k < found.own ? "hsd-df-mine" : "hsd-df-own" });
    result = { found, own: run.tokens[found.own]?.text ?? "" };
    at = found.own + 1;
    passes.push(written.length);
    proposal = [];
    // The text above stops here.
    if (mode === "recorded") group.scrub(store.index().stepOf[at - 1] ?? 0);
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
    const recorded = [
      ...(model.get("others") ?? []).filter((r) => r.name !== store.meta.stack),
      { name: store.meta.stack || "this run", counts: store.index().rounds.map((r) => r.count) },
    ];
    const others = [
      { name: "you", counts: passes.map((n, k) => n - (passes[k - 1] ?? 0)), you: true },
      ...(mode === "recorded" ? recorded : racers),
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
            <text class=${r.you ? "hsd-df-name hsd-you" : "hsd-df-name"} x=${x(r.ends.length - 1) + 6} y=${(label.get(k) ?? 0) + 4}>${r.name.length > 17 ? `${r.name.slice(0, 16)}…` : r.name}</text>`,
        )}
      </svg>`,
      plot,
    );
    const n = passes.length;
    return n
      ? `You: ${plural(written.length, "token")} in ${plural(n, "pass")}, ${(written.length / n).toFixed(2)} per pass. In as many passes: ${[
          ...shown.slice(1).map((r) => `${r.name} ${afterPasses(r.counts, n)}`),
          `plain ${n}`,
        ].join(", ")}.`
      : "Each verification is one pass of the target. Plain decoding gains one token per pass.";
  }
  function paint() {
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const words = picture();
    const waits = mode === "waiting";
    const full =
      waits ||
      ahead() - at >= MOST ||
      proposal.some((part) => part.id === null) ||
      (mode === "recorded" && ahead() >= store.tokens.length - 1);
    const submit = (e: Event) => {
      e.preventDefault();
      const field = (e.target as HTMLFormElement).elements.namedItem("text") as HTMLInputElement;
      add({ id: null, text: field.value });
      field.value = "";
    };
    const before = prompt.slice(-Math.max(0, TAIL - written.reduce((n, t) => n + t.text.length, 0))) || "";
    const tail = written.slice(-40);
    const end = html`<p>The recorded text ends here.</p>`;
    const controls = () => html`<div class="hsd-df-choices" role="group" aria-label="Next token">${
      full
        ? nothing
        : choicesAt(run, ahead()).map(
            (c) => html`<button @click=${() => add(c)}><code>${glyphs(c.text) || "∅"}</code></button>`,
          )
    }</div>
      <form class="hsd-df-form" @submit=${submit}>
        <input name="text" autocomplete="off" spellcheck="false" aria-label="Type the next text" placeholder="or type the next text" maxlength="80" ?disabled=${full} />
        <button ?disabled=${full}>Add</button>
      </form>`;
    render(
      html`<h3>You are the drafter</h3>
        <p class="hsd-df-note">Propose the next tokens. The target verifies them in one pass, accepts those that it would have written itself, and adds one of its own.</p>
        <div class="hsd-df-body"><div>
          <pre class="hsd-df-text" tabindex="0" aria-label="Text so far">${before.length < prompt.length ? "…" : ""}${before}${tail.map((t) => html`<span class=${t.kind}>${t.text}</span>`)}${proposal.map(
            (part) => html`<mark>${part.text}</mark>`,
          )}<span class="hsd-df-caret" aria-hidden="true"></span></pre>
          ${done() ? end : controls()}
          <div class="hsd-df-form">
            <button class="hsd-df-go" ?disabled=${waits || done()} @click=${go}>${waits ? "Verifying …" : `Verify${proposal.length ? "" : " nothing: one plain token"}`}</button>
            <button ?disabled=${waits || !proposal.length} @click=${() => {
              proposal.pop();
              paint();
            }}>Undo</button>
            <button ?disabled=${waits || (!passes.length && mode === "recorded")} @click=${() => {
              restart();
              group.release();
              paint();
            }}>Start again</button>
            ${live() && mode === "recorded" ? html`<button class="hsd-df-live" @click=${begin}>Play live on the form’s prompt</button>` : nothing}
          </div>
          <p class="hsd-df-result" role="status">${
            trouble ||
            (result &&
              html`Accepted ${result.found.accepted}${result.found.rejected ? html`; rejected “${glyphs(result.found.rejected.text)}”${result.found.rejected.p === null ? nothing : ` (p ${figure(result.found.rejected.p)})`}` : nothing}. The target’s own token: “${glyphs(result.own)}”.`)
          }</p>
        </div><div>${plot}<p class="hsd-df-note">${words}</p></div></div>
        <p class="hsd-df-note">${
          mode === "recorded"
            ? "Recorded run: a proposal is compared with the token that the target drew at each place, so the text is that of the run. p is at temperature 1."
            : "Live: the target of this page decodes the next tokens after the text, and a proposal is accepted as far as it agrees: the verdict of one verification pass. The databases and nano decode the same prompt beside you."
        } Choices are the target’s most probable tokens and drafts, in the order of their ids. Your own time is not counted.</p>`,
      root,
    );
  }
  let shown = store.run;
  restart();
  follow((what) => {
    if (what === "reset" && store.run !== shown && mode === "recorded") restart();
    shown = store.run;
    if (mode === "recorded") prompt = store.prompt;
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
