// Comparison of runs of one prompt: race, aligned texts, metrics, distributions. Python (hsd_viz/views/versus.py)
// sends all data; the cursor and the clock are here.
import { html, nothing, render } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { followTheme, make } from "../lib/dom";
import { hsdGroup, release } from "../lib/group";
import { open as openLinked } from "../lib/linked";
import { drawNotice, guarded } from "../lib/notice";
import type { PaletteData } from "../lib/palette";
import { paletteOf } from "../lib/palette";
import type { Drawing, Model } from "../lib/widget";
import { brief } from "../lib/words";
import { createScene } from "../scene";
import type { Draws, FigureRow } from "./figures";
import { drawsOf, tableOf } from "./figures";
import { raceOf } from "./lanes";
import { type RunData, readRun, roundStep } from "./race";
import type { Agreement } from "./score";
import { scoreOf } from "./score";
import type { RaceState } from "./state";
import { createState, fewest } from "./state";

interface Data {
  prompt: string;
  facts: string[];
  caution?: string;
  runs: RunData[];
  agreement: Agreement[];
  table: FigureRow[];
  doubt?: string;
  draws: Draws;
}
interface Traits {
  data: Data | Record<string, never>;
  refusal: string;
  choices: { group: string; title: string; runs: { name: string; title: string; blurb: string; stack: string }[] }[];
  group: string;
  chosen: string[];
  pinned: number;
  /** The time of the race shown first, in milliseconds; -1: its end. */
  time: number;
  /** The name of the group with the runs. */
  link: string;
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

  const runs = hsdGroup(model.get("link"));
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
  const refuse = () => {
    drawNotice(refusal, { message: model.get("refusal"), caution: true });
  };
  function open() {
    close();
    const data = model.get("data");
    if (!data?.runs?.length) {
      render(nothing, body);
      return;
    }
    const first = fewest(
      data.runs.map(({ run }) => ({ rounds: run.rounds.parent.filter((parent) => parent === null) })),
    );
    runs.load(data.runs, first);
    state = createState(
      runs,
      data.runs.map((facts, k) => readRun(facts, runs.runs[k])),
    );
    if (model.get("time") >= 0 && !motion.matches) state.set(model.get("time") * 1e6, false);
    race = raceOf(state, palette, () => motion.matches);
    score = scoreOf(state, palette, data.agreement);
    const caution = (words?: string) => (words ? html`<p class="hsd-vs-caution">${words}</p>` : nothing);
    // A new element for each set of runs: what was drawn for others goes.
    render(
      keyed(
        state,
        html`<p class="hsd-vs-about">
            <code class="hsd-vs-prompt" title="prompt of all runs">${brief(data.prompt)}</code>
            <span>${data.facts.join(" · ")}</span>
          </p>
          ${caution(data.caution)}${race.root}${score.root}${round}
          ${tableOf(data.table, state.runs, "Figures", caution(data.doubt))}${drawsOf(data.draws, state.runs, palette)}`,
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
  model.on("change:data", open);
  model.on("change:refusal", refuse);
  model.on("change:pinned", pinned);
  refuse();
  open();
  const again = () => state?.tell("clock");
  motion.addEventListener("change", again);
  return () => {
    close();
    chooser.end();
    unfollow();
    release(model.get("link"));
    motion.removeEventListener("change", again);
    model.off("change:data", open);
    model.off("change:refusal", refuse);
    model.off("change:pinned", pinned);
    root.remove();
  };
}

export default { render: guarded(draw) };
