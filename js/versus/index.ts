// Comparison of runs of one prompt: race, metrics and texts; all from the columns of the runs.
import { html, nothing, render } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { focusable, followTheme, make } from "../lib/dom";
import { drawNotice, guarded } from "../lib/notice";
import { type Palette, type PaletteData, paletteOf } from "../lib/palette";
import type { Snapshot } from "../lib/run";
import type { Sources } from "../lib/stack";
import { term } from "../lib/tip";
import { type Drawing, type Model, unique } from "../lib/widget";
import { brief, duration, figure, glyphs, KIND_WORDS, plural } from "../lib/words";
import { tokenPane } from "../stream/pane";
import { type Agreement, agreementOf, doubtOf, factsOf, machineNote, refusalOf, storesOf, tableOf } from "./compare";
import { gapWords, type Runner, runnerOf, shownAt, spentAt } from "./race";
import { stageOf } from "./stage";

/** A recording that can be chosen: its name, title, stack and description. */
export interface Offered {
  name: string;
  title: string;
  blurb: string;
  stack: string;
}
export interface Traits {
  /** The runs in order, and a description of each stack that has one. */
  runs: Snapshot[];
  titles: Record<string, string>;
  sources: Sources;
  /** Why there are no runs. */
  refusal: string;
  choices: { group: string; title: string; runs: Offered[] }[];
  group: string;
  chosen: string[];
  pinned: number;
  /** The time of the race shown first, in milliseconds; -1: its end. */
  time: number;
  palette: PaletteData;
}
const SIGNS = { same: "=", apart: "≠", broken: "!" };
const HINT = "← → move by output position, ↑ ↓ select the run; Enter pins, Esc unpins, Space races";

/** The selectable recordings. */
function chooserOf(model: Model<Traits>) {
  const root = make("div", "hsd-vs-chooser");
  const send = <K extends "group" | "chosen">(name: K, value: Traits[K]) => {
    model.set(name, value);
    model.save_changes();
  };
  const row = (label: string, chips: unknown[]) =>
    html`<div class="hsd-vs-choices" role="group" aria-label=${label}>
      <span class="hsd-vs-choices-label">${label}</span>${chips}
    </div>`;
  const chip = (name: string, words: string, on: boolean, act: () => void, title?: string) =>
    html`<button
      class="hsd-vs-chip" aria-pressed=${on} data-name=${name} title=${title ?? nothing} @click=${act}
    >${words}</button>`;
  function paint() {
    const choices = model.get("choices") || [];
    root.hidden = !choices.length;
    const group = choices.find((g) => g.group === model.get("group"));
    const chosen = model.get("chosen") || [];
    const runs = (group?.runs ?? []).map(({ name, title, stack, blurb }) => {
      const on = chosen.includes(name);
      const act = () => send("chosen", on ? chosen.filter((n) => n !== name) : [...chosen, name]);
      return chip(name, title, on, act, `${stack}: ${blurb}`);
    });
    const groups = choices.map((g) => chip(g.group, g.title, g === group, () => send("group", g.group)));
    render(html`${row("Sampling", groups)}${group ? row("Stacks (two or three)", runs) : nothing}`, root);
  }
  const events = "change:choices change:group change:chosen";
  model.on(events, paint);
  paint();
  return { root, close: () => model.off(events, paint) };
}

/** The texts side by side, with one cursor over output positions: `at` of the run `row`. */
function textsOf(runs: Runner[], palette: Palette, model: Model<Traits>) {
  const root = make("section", "hsd-vs-texts hsd-stream");
  root.setAttribute("aria-label", "Texts");
  const longest = Math.max(...runs.map((r) => r.store.tokens.length));
  const fewest = runs.reduce((best, r, k) => (r.store.order.size < runs[best].store.order.size ? k : best), 0);
  const state = { at: -1, row: fewest, pinned: false };
  const panes = runs.map(({ store, letter }, k) => {
    const text = make("div", "hsd-text");
    const out = focusable(make("div", "hsd-out"));
    out.setAttribute("role", "listbox");
    out.setAttribute("aria-label", `Output of ${letter}. ${HINT}.`);
    text.append(out);
    const pane = tokenPane(make("span"), out, store, palette);
    pane.clear();
    out.addEventListener("pointerover", (e) => {
      const at = pane.tokenAt(e);
      if (at >= 0 && e.pointerType === "mouse" && !state.pinned) move(at, k);
    });
    out.addEventListener("click", (e) => {
      const at = pane.tokenAt(e);
      if (at >= 0) move(at, k, !(state.pinned && state.at === at && state.row === k));
    });
    return { text, out, pane };
  });
  let marked: HTMLElement[] = [];
  function move(at: number, row = state.row, pinned = state.pinned) {
    Object.assign(state, { at: Math.min(at, longest - 1), row, pinned: pinned && at >= 0 });
    paint();
    const pin = state.pinned ? state.at : -1;
    if (model.get("pinned") === pin) return;
    model.set("pinned", pin);
    model.save_changes();
  }
  function cardOf(run: Runner, k: number) {
    const at = state.at < 0 ? longest - 1 : state.at;
    const token = run.store.tokens[at];
    const [own, first] = [spentAt(run.stairs, at), spentAt(runs[0].stairs, at)];
    if (!token || !own) return html`<p class="hsd-vs-card">ended after ${plural(run.store.tokens.length, "token")}</p>`;
    const how = token.kind === "accepted" ? `accepted, from ${palette.phrase(token.source)}` : KIND_WORDS[token.kind];
    return html`<p class="hsd-vs-card"><code data-family=${palette.family(token.source)}>${glyphs(token.text)}</code> ${how}; after
      <strong>${plural(own.passes, "target pass")}, ${duration(own.ns)}</strong>${
        k && first ? `: ${gapWords(own, first, runs[0].letter)}` : ""
      }. <span class="hsd-vs-hint">p ${figure(token.p)}</span></p>`;
  }
  function paint() {
    for (const node of marked) node.classList.remove("hsd-on", "hsd-pinned", "hsd-mate");
    marked = [];
    runs.forEach(({ stairs }, k) => {
      const { pane, out } = panes[k];
      const tread = stairs.treads.find((t) => t.low <= state.at && state.at < t.high);
      for (let i = tread?.low ?? 0; tread && i < tread.high; i++) {
        pane.spans[i].classList.add(i === state.at ? (state.pinned ? "hsd-pinned" : "hsd-on") : "hsd-mate");
        marked.push(pane.spans[i]);
      }
      const here = pane.spans[state.at];
      for (const other of out.querySelectorAll('[aria-selected="true"]')) other.setAttribute("aria-selected", "false");
      here?.setAttribute("aria-selected", "true");
      if (here) out.setAttribute("aria-activedescendant", here.id);
      else out.removeAttribute("aria-activedescendant");
    });
    render(
      html`<h3>Texts</h3>
        <p class="hsd-vs-hint">Output position ${(state.at < 0 ? longest - 1 : state.at) + 1} of ${longest}${state.pinned ? ", pinned" : ""}. ${HINT}.</p>
        <div class="hsd-vs-columns" .style=${`--runs: ${runs.length}`}>${runs.map(
          (run, k) => html`<div class=${k === state.row ? "hsd-vs-column hsd-vs-active" : "hsd-vs-column"}>
            <h4><b class="hsd-vs-letter">${run.letter}</b> ${run.title || run.store.meta.stack}</h4>
            ${panes[k].text}${cardOf(run, k)}</div>`,
        )}</div>`,
      root,
    );
  }
  paint();
  return {
    root,
    move,
    /** Tokens after this time are not written yet. */
    clock: (ns: number) => runs.forEach(({ stairs }, k) => panes[k].pane.dim(shownAt(stairs, ns))),
    key(e: KeyboardEvent) {
      const step = (by: number) => move(Math.max(0, state.at + by));
      const keys: Record<string, () => void> = {
        ArrowRight: () => step(1),
        ArrowLeft: () => step(-1),
        ArrowDown: () => move(Math.max(0, state.at), Math.min(runs.length - 1, state.row + 1)),
        ArrowUp: () => move(Math.max(0, state.at), Math.max(0, state.row - 1)),
        Home: () => move(0),
        End: () => move(longest - 1),
        Enter: () => move(Math.max(0, state.at), state.row, true),
        Escape: () => move(-1, state.row, false),
      };
      if (!Object.hasOwn(keys, e.key)) return false;
      keys[e.key]();
      return true;
    },
  };
}

/** Whether the texts agree, whether they must, and why. */
const agreementWords = (agreement: Agreement[]) =>
  html`<ul class="hsd-vs-agreement">${agreement.map((a, i) => {
    // A reason shared by several runs is shown once, after the last.
    const why = agreement[i + 1]?.why === a.why ? "" : ` ${a.why}`;
    return html`<li class="hsd-vs-${a.state}"><span class="hsd-vs-sign" aria-hidden="true">${SIGNS[a.state]}</span><span>${a.words}${why}</span></li>`;
  })}</ul>`;

/** The metrics of all runs, each with its definition and its difference to the first run. */
function metricsTable(runs: Runner[], note: unknown) {
  const uid = unique();
  const rows = tableOf(runs.map((r) => r.store));
  return html`<section class="hsd-vs-figures" aria-label="Figures"><h3>Figures</h3>${note}
    <table .style=${`--runs: ${runs.length}`}>
      <thead><tr><th>difference to ${runs[0].letter}</th>${runs.map(
        (r) => html`<th scope="col"><b class="hsd-vs-letter">${r.letter}</b> ${r.title || r.store.meta.stack}</th>`,
      )}</tr></thead>
      <tbody>${rows.map(
        ({ name, definition, part, cells }, k) => html`<tr class=${part ? "hsd-vs-part" : ""}>
          <th scope="row">${term(name, definition, `${uid}-${k}`)}</th>
          ${cells.map(({ value, difference }) => html`<td><span class="hsd-vs-value">${value}</span> <span class="hsd-vs-hint">${difference}</span></td>`)}
        </tr>`,
      )}</tbody>
    </table></section>`;
}

function draw({ model, el }: Drawing<Traits>) {
  const root = make("div", "hsd-linked hsd-versus");
  const palette = paletteOf(model.get("palette"));
  palette.paint(root);
  const unfollow = followTheme(root, { behind: "--backdrop" });
  const chooser = chooserOf(model);
  const refusal = make("div", "hsd-vs-refusal");
  const body = make("div", "hsd-vs-body");
  root.append(chooser.root, refusal, body);
  el.append(root);
  const motion = matchMedia("(prefers-reduced-motion: reduce)");
  let stage: ReturnType<typeof stageOf> | null = null;
  let texts: ReturnType<typeof textsOf> | null = null;
  function close() {
    stage?.close();
    stage = texts = null;
  }
  function open() {
    close();
    const stores = storesOf(model.get("runs") ?? []);
    const why = model.get("refusal") || refusalOf(stores);
    drawNotice(refusal, { message: why, caution: true });
    if (why) {
      render(nothing, body);
      return;
    }
    const titles = model.get("titles");
    const runs = stores.map((store) =>
      runnerOf(store, titles[store.meta.asked ?? ""] || titles[store.meta.stack] || ""),
    );
    const shown = textsOf(runs, palette, model);
    texts = shown;
    stage = stageOf(runs, palette, shown.clock, () => motion.matches);
    if (model.get("time") >= 0 && !motion.matches) stage.set(model.get("time") * 1e6);
    const caution = (words?: string) => (words ? html`<p class="hsd-vs-caution">${words}</p>` : nothing);
    render(
      keyed(
        stage,
        html`<p class="hsd-vs-about">
            <code class="hsd-vs-prompt" title="prompt of all runs">${brief(stores[0].prompt)}</code>
            <span>${factsOf(stores[0]).join(" · ")}</span>
          </p>
          ${agreementWords(agreementOf(stores, model.get("sources")))}
          ${caution(machineNote(stores))}${stage.root}${metricsTable(runs, caution(doubtOf(stores)))}${shown.root}`,
      ),
      body,
    );
    pinned();
  }
  const pinned = () => {
    const pin = model.get("pinned");
    if (pin >= 0) texts?.move(pin, undefined, true);
  };
  const keydown = (e: KeyboardEvent) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey) return;
    const own = e.key === "Enter" || e.key === " " ? "button, input, select" : "input, select";
    if (e.key !== "Escape" && (e.target as Element).closest?.(own)) return;
    if (e.key === " ") stage?.toggle();
    else if (!texts?.key(e)) return;
    e.preventDefault();
    e.stopPropagation();
  };
  const again = () => stage?.again();
  root.addEventListener("keydown", keydown);
  motion.addEventListener("change", again);
  model.on("change:runs change:refusal", open);
  model.on("change:pinned", pinned);
  open();
  return () => {
    close();
    chooser.close();
    unfollow();
    motion.removeEventListener("change", again);
    model.off("change:runs change:refusal", open);
    model.off("change:pinned", pinned);
    root.remove();
  };
}

export default { render: guarded(draw) };
