// Comparison of runs of one prompt: race, aligned texts, metrics, distributions; all computed here from the columns of the runs.
import { html, nothing, render } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { followTheme, make } from "../lib/dom";
import { createGroup } from "../lib/group";
import { open as openLinked } from "../lib/linked";
import { metricsOf } from "../lib/metrics";
import { drawNotice, guarded } from "../lib/notice";
import type { PaletteData } from "../lib/palette";
import { paletteOf } from "../lib/palette";
import type { Snapshot } from "../lib/run";
import type { Sources } from "../lib/stack";
import type { Drawing, Model } from "../lib/widget";
import { brief } from "../lib/words";
import { createScene } from "../scene";
import { agreementOf, doubtOf, factsOf, LETTERS, machineNote, refusalOf, stackOf, storesOf, tableOf } from "./compare";
import { drawsOf } from "./draws";
import { drawsOf as drawCharts, tableOf as drawTable } from "./figures";
import { raceOf } from "./lanes";
import { readRun, roundStep } from "./race";
import { scoreOf } from "./score";
import type { RaceState } from "./state";
import { createState, fewest } from "./state";

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
  for (const name of ["choices", "group", "chosen"]) model.on(`change:${name}`, paint);
  paint();
  return {
    root,
    end: () => {
      for (const name of ["choices", "group", "chosen"]) model.off(`change:${name}`, paint);
    },
  };
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

  const runs = createGroup();
  // The round under the cursor, of the run that it is in.
  const round = make("section", "hsd-vs-inspected");
  round.setAttribute("aria-label", "Round of the selected run");
  const inspected = { get: (name: string) => (name === "data" ? {} : model.get(name as "palette")) };
  let closeRound = () => {};
  let state: RaceState | null = null;
  let race: ReturnType<typeof raceOf> | null = null;
  let score: ReturnType<typeof scoreOf> | null = null;
  const close = () => {
    race?.end();
    score?.end();
    state?.close();
    closeRound();
    closeRound = () => {};
    state = race = score = null;
  };
  function open() {
    close();
    const all = model.get("runs") ?? [];
    const stores = storesOf(all);
    const why = model.get("refusal") || refusalOf(stores);
    drawNotice(refusal, { message: why, caution: true });
    if (why) {
      render(nothing, body);
      return;
    }
    const first = fewest(stores.map((store) => ({ rounds: [...store.order.keys()] })));
    runs.load(
      all.map((run, k) => ({ letter: LETTERS[k], run })),
      first,
    );
    const facts = stores.map((store) => ({
      letter: store.letter,
      title: model.get("titles")[store.meta.asked ?? ""] || model.get("titles")[store.meta.stack] || "",
      stack: stackOf(store),
      tokens_per_second: metricsOf(store).tokens_per_second,
    }));
    state = createState(
      runs,
      facts.map((own, k) => readRun(own, runs.runs[k])),
    );
    const agreement = agreementOf(stores, model.get("sources"));
    if (model.get("time") >= 0 && !motion.matches) state.set(model.get("time") * 1e6, false);
    race = raceOf(state, palette, () => motion.matches);
    score = scoreOf(state, palette, agreement);
    const caution = (words?: string) => (words ? html`<p class="hsd-vs-caution">${words}</p>` : nothing);
    const figures = drawTable(tableOf(stores), state.runs, "Figures", caution(doubtOf(stores)));
    render(
      keyed(
        state,
        html`<p class="hsd-vs-about">
            <code class="hsd-vs-prompt" title="prompt of all runs">${brief(stores[0].prompt)}</code>
            <span>${factsOf(stores[0]).join(" · ")}</span>
          </p>
          ${caution(machineNote(stores))}${race.root}${score.root}${round}
          ${figures}${drawCharts(drawsOf(stores, agreement), state.runs, palette)}`,
      ),
      body,
    );
    closeRound = openLinked({ model: inspected as Model<never>, el: round }, runs, createScene);
    const made = state;
    made.listeners.add((what) => {
      if (what !== "cursor" || model.get("pinned") === made.pin) return;
      model.set("pinned", made.pin);
      model.save_changes();
    });
  }
  const pinned = () => {
    if (state && model.get("pinned") !== state.pin) state.keep(Math.min(model.get("pinned"), state.longest - 1));
  };
  const keydown = (e: KeyboardEvent) => {
    if (!state || !race) return;
    const [here, running] = [state, race];
    const own = e.key === "Enter" || e.key === " " ? "button, input, select" : "input, select";
    if (e.key !== "Escape" && (e.target as Element).closest?.(own)) return;
    const base = here.key >= 0 ? here.key : -1;
    const row = (by: number) => Math.max(0, Math.min(here.runs.length - 1, here.row + by));
    const step = (by: number) =>
      here.go(e.shiftKey ? roundStep(here.runs[here.row], Math.max(0, base), by) : base + by);
    const keys: Record<string, () => unknown> = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      ArrowDown: () => here.go(Math.max(0, base), row(1)),
      ArrowUp: () => here.go(Math.max(0, base), row(-1)),
      Home: () => here.go(0),
      End: () => here.go(here.longest - 1),
      Enter: () => here.keep(here.at),
      Escape: () => here.release(),
      " ": () => running.toggle(),
    };
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]();
    e.preventDefault();
    e.stopPropagation();
  };
  root.addEventListener("keydown", keydown);
  model.on("change:runs change:refusal", open);
  model.on("change:pinned", pinned);
  open();
  const again = () => state?.tell("clock");
  motion.addEventListener("change", again);
  return () => {
    close();
    chooser.end();
    unfollow();
    motion.removeEventListener("change", again);
    model.off("change:runs change:refusal", open);
    model.off("change:pinned", pinned);
    root.remove();
  };
}

export default { render: guarded(draw) };
