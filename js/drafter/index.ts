// You are the drafter: the text stops, the visitor proposes the next tokens, the target verifies
// them (game.ts): the recorded one, or on a page that decodes the real one, after any prompt.
import { html, nothing, render, svg } from "lit-html";
import { axisX, axisY, frameOf, spread } from "../lib/chart";
import { make } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { troubleOf } from "../lib/notice";
import type { Store } from "../lib/run";
import { cut, figure, glyphs, plural } from "../lib/words";
import { drawRamp } from "../staircase/drawing";
import { afterPasses, choicesAt, MOST, type Proposed, type Result, verify } from "./game";

/** A stack, and the tokens of each of its target rounds. */
interface Racer {
  name: string;
  counts: number[];
}
interface Traits {
  /** Recorded runs of the same prompt. */
  others: Racer[];
  /** Decode a stack after a text ("": the form's prompt); null: this page cannot. */
  live?: ((prompt: string, stack: string, tokens: number) => Promise<Store>) | null;
}
/** Characters of the text before the place. */
const TAIL = 220;
const FIRST =
  "Each verification is one pass of the target. Plain decoding gains one token per pass.";
const RECORDED =
  "Recorded run: a proposal is compared with the token that the target drew at each place, " +
  "so the text is that of the run. p is at temperature 1.";
const LIVE =
  "Live: the target of this page decodes the next tokens after the text, and a proposal is " +
  "accepted as far as it agrees: the verdict of one verification pass. " +
  "The databases and nano decode the same prompt beside you.";
const SIZE = { height: 190, left: 34, top: 12, bottom: 24 };
/** Stacks that a live game races, and their tokens. */
const [RACERS, RACER_TOKENS] = [["db > target", "nano:4 > target"], 48];

function drafterView({ model, root, group, store, follow, on, resized }: View<Traits>) {
  root.classList.add("hsd-drafter");
  const plot = make("div", "hsd-df-plot");
  const fresh = () => ({
    mode: "recorded" as "recorded" | "waiting" | "live",
    trouble: "",
    /** The run whose target verifies, and the place in it. */
    run: store as Store,
    at: 0,
    prompt: store.prompt,
    written: [] as { text: string; mine: boolean }[],
    proposal: [] as Proposed[],
    /** Tokens of each of the visitor's passes. */
    counts: [] as number[],
    result: null as { found: Result; own: string } | null,
    racers: [] as Racer[],
  });
  let game = fresh();
  const set = (change: Partial<typeof game>) => {
    Object.assign(game, change);
    paint();
  };
  const live = () => model.get("live") ?? null;
  const failed = (error: unknown) =>
    set({ trouble: troubleOf(error).message, mode: game.counts.length ? "live" : "recorded" });

  /** Begin a game on the form's prompt: the target's first tokens are the choices. */
  async function begin() {
    const decode = live();
    if (!decode) return;
    const mine = { ...fresh(), mode: "waiting" as const };
    game = mine;
    paint();
    try {
      const run = await decode("", "target", MOST + 2);
      set({ run, prompt: run.prompt, mode: "live" });
      for (const name of RACERS) {
        const counts = (await decode(run.prompt, name, RACER_TOKENS))
          .index()
          .rounds.map((r) => r.count);
        if (game !== mine) return;
        set({ racers: [...game.racers, { name, counts }] });
      }
    } catch (error) {
      failed(error);
    }
  }
  async function go() {
    const { mode, prompt, written } = game;
    const decode = mode === "live" ? live() : null;
    if (decode) {
      set({ mode: "waiting" });
      try {
        const run = await decode(prompt + written.map((t) => t.text).join(""), "target", MOST + 2);
        // The text before may be cut into other tokens.
        const typed = game.proposal.map((p) => p.text).join("");
        set({ run, at: 0, mode: "live", proposal: [{ id: null, text: typed }] });
      } catch (error) {
        return failed(error);
      }
    }
    const { run, at, proposal, counts } = game;
    const found = verify(run, at, proposal);
    const added = run.tokens
      .slice(at, found.own + 1)
      .map(({ text }, k) => ({ text, mine: at + k < found.own }));
    set({
      written: [...written, ...added],
      counts: [...counts, added.length],
      result: { found, own: run.tokens[found.own]?.text ?? "" },
      at: found.own + 1,
      proposal: [],
    });
    // The text above stops here.
    if (mode === "recorded") group.scrub(store.index().stepOf[found.own] ?? 0);
  }
  const add = (part: Proposed) => {
    if (part.text !== "" || part.id !== null) set({ proposal: [...game.proposal, part] });
  };

  /** The staircases over target passes, and what they say. */
  function picture() {
    const { counts, mode, racers } = game;
    const recorded = [
      ...(model.get("others") ?? []).filter((r) => r.name !== store.meta.stack),
      { name: store.meta.stack || "this run", counts: store.index().rounds.map((r) => r.count) },
    ];
    const all = [
      { name: "you", counts },
      ...(mode === "live" || racers.length ? racers : recorded),
    ];
    const most = Math.max(6, counts.length + 2);
    const ends = all.map((r) =>
      Array.from({ length: Math.min(most, r.counts.length) }, (_, k) =>
        afterPasses(r.counts, k + 1),
      ),
    );
    const width = Math.max(280, plot.clientWidth || 520);
    const right = Math.min(230, 0.34 * width);
    const f = frameOf({ ...SIZE, width, right }, most, Math.max(6, ...ends.flat()));
    const step = (n: number, k: number) => `H${f.x(k + 1).toFixed(1)}V${f.y(n).toFixed(1)}`;
    const path = (tokens: number[]) => `M${f.x(0)} ${f.y(0)}${tokens.map(step).join("")}`;
    const places = spread(
      ends.map((tokens) => ({
        x: f.x(tokens.length) + 6,
        y: f.y(tokens.at(-1) ?? 0) + (tokens.length ? 4 : -6),
      })),
      15,
    );
    const letters = Math.floor(right / 7.6);
    const line = (k: number) => {
      const { x, y } = places[k];
      const own = k === 0;
      return svg`<path class=${own ? "hsd-df-you" : "hsd-df-other"} d=${path(ends[k])}></path>
        <text class=${own ? "hsd-df-name hsd-you" : "hsd-df-name"} x=${x}
          y=${y}>${cut(all[k].name, letters)}</text>`;
    };
    const height = Math.max(SIZE.height, ...places.map((p) => p.y + 8));
    const across = axisX({ ...f, width: f.end + 50 }, 3, (n) => plural(n, "pass"));
    render(
      svg`<svg class="hsd-stairs" width=${width} height=${height} aria-hidden="true">
        ${axisY(f, 3)}${across}${drawRamp(f, most, most)}
        ${[...all.keys()].reverse().map(line)}</svg>`,
      plot,
    );
    const n = counts.length;
    if (!n) return FIRST;
    const tokens = afterPasses(counts, n);
    const others = all.slice(1).map((r) => `${r.name} ${afterPasses(r.counts, n)}`);
    const each = `${(tokens / n).toFixed(2)} per pass`;
    const beside = [...others, `plain ${n}`].join(", ");
    const own = `You: ${plural(tokens, "token")} in ${plural(n, "pass")}, ${each}.`;
    return `${own} In as many passes: ${beside}.`;
  }
  function paint() {
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const { mode, trouble, run, at, prompt, written, proposal, counts, result } = game;
    const words = picture();
    const waits = mode === "waiting";
    const done = !waits && at >= run.tokens.length;
    const typed = proposal.some((part) => part.id === null);
    const full =
      waits ||
      typed ||
      proposal.length >= MOST ||
      (mode === "recorded" && at + proposal.length >= run.tokens.length - 1);
    const submit = (e: Event) => {
      e.preventDefault();
      const field = (e.target as HTMLFormElement).elements.namedItem("text") as HTMLInputElement;
      add({ id: null, text: field.value });
      field.value = "";
    };
    const shown = written.slice(-40);
    const room = Math.max(0, TAIL - written.reduce((n, t) => n + t.text.length, 0));
    const before = room ? prompt.slice(-room) : "";
    const choices = full ? [] : choicesAt(run, at + proposal.length);
    const controls = html`<div class="hsd-df-choices" role="group" aria-label="Next token">
        ${choices.map(
          (c) =>
            html`<button @click=${() => add(c)}><code>${glyphs(c.text) || "∅"}</code></button>`,
        )}
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
    const verdict = ({ found: { accepted, rejected }, own }: NonNullable<typeof result>) => {
      const p = rejected?.p === null || !rejected ? "" : ` (p ${figure(rejected.p)})`;
      const struck = rejected ? `; rejected “${glyphs(rejected.text)}”${p}` : "";
      return `Accepted ${accepted}${struck}. The target’s own token: “${glyphs(own)}”.`;
    };
    const again = () => {
      game = fresh();
      group.release();
      paint();
    };
    render(
      html`<h3>You are the drafter</h3>
        <p class="hsd-note">
          Propose the next tokens. The target verifies them in one pass, accepts those that it would
          have written itself, and adds one of its own.
        </p>
        <div class="hsd-df-body">
          <div>
            <pre
              class="hsd-df-text"
              tabindex="0"
              aria-label="Text so far"
            >${before.length < prompt.length ? "…" : ""}${before}${shown.map(
              ({ text, mine }) =>
                html`<span class=${mine ? "hsd-df-mine" : "hsd-df-own"}>${text}</span>`,
            )}${proposal.map(
              (part) => html`<mark>${part.text}</mark>`,
            )}<span class="hsd-df-caret" aria-hidden="true"></span></pre>
            ${done ? html`<p>The recorded text ends here.</p>` : controls}
            <div class="hsd-df-form">
              <button class="hsd-df-go hsd-primary" ?disabled=${waits || done} @click=${go}>
                ${
                  waits
                    ? "Verifying …"
                    : `Verify${proposal.length ? "" : " nothing: one plain token"}`
                }
              </button>
              <button
                ?disabled=${waits || !proposal.length}
                @click=${() => set({ proposal: proposal.slice(0, -1) })}
              >
                Undo
              </button>
              <button ?disabled=${waits || (!counts.length && mode === "recorded")} @click=${again}>
                Start again
              </button>
              ${
                live() && mode === "recorded"
                  ? html`<button class="hsd-df-live"
  @click=${begin}>Play live on the form’s prompt</button>`
                  : nothing
              }
            </div>
            <p class="hsd-df-result" role="status">${trouble || (result && verdict(result))}</p>
          </div>
          <div>
            ${plot}
            <p class="hsd-note">${words}</p>
            <p class="hsd-note">
              ${mode === "recorded" ? RECORDED : LIVE}
              Choices are the target’s most probable tokens and drafts, in the order of their ids.
              Your own time is not counted.
            </p>
          </div>
        </div>`,
      root,
    );
  }
  let shown = store.run;
  follow((what) => {
    if (what === "reset" && store.run !== shown && game.mode === "recorded") game = fresh();
    shown = store.run;
    paint();
  });
  on("change:others", paint);
  resized(plot, paint);
  paint();
}
export default linkedWidget(drafterView);
