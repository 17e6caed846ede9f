// Comparison of runs of one prompt: race, aligned texts, metrics, distributions. Python (hsd_viz/views/versus.py)
// sends all data; the cursor and the clock are here.

import { createInspector } from "../inspector";
import type { PaletteData } from "../lib/contract";
import { followTheme, make } from "../lib/dom";
import { hsdGroup, release } from "../lib/group";
import { open as openLinked } from "../lib/linked";
import { drawNotice, guarded } from "../lib/notice";
import { paletteOf } from "../lib/palette";
import type { Drawing, Model } from "../lib/widget";
import { brief } from "../lib/words";
import type { Draws, FigureRow } from "./figures";
import { drawsOf, tableOf } from "./figures";
import { raceOf } from "./lanes";
import { type RunData, readRun, roundStep } from "./race";
import type { Agreement } from "./score";
import { agreementOf, scoreOf } from "./score";
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
  function paint() {
    const choices = model.get("choices") || [];
    root.hidden = !choices.length;
    const focused = root.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.name : null;
    const group = choices.find((g) => g.group === model.get("group"));
    const row = (label: string, items: HTMLElement[]) => {
      const line = make("div", "hsd-vs-choices");
      line.setAttribute("role", "group");
      line.setAttribute("aria-label", label);
      line.append(make("span", "hsd-vs-choices-label", label), ...items);
      return line;
    };
    const chip = (name: string, words: string, on: boolean, act: () => void, title = "") => {
      const node = make("button", "hsd-vs-chip", words);
      node.setAttribute("aria-pressed", String(on));
      node.dataset.name = name;
      if (title) node.title = title;
      node.addEventListener("click", act);
      return node;
    };
    const groups = choices.map((g) => chip(g.group, g.title, g === group, () => send("group", g.group)));
    const chosen = model.get("chosen") || [];
    const runs = (group ? group.runs : []).map((r) => {
      const on = chosen.includes(r.name);
      return chip(
        r.name,
        r.title,
        on,
        () => send("chosen", on ? chosen.filter((n) => n !== r.name) : [...chosen, r.name]),
        `${r.stack}: ${r.blurb}`,
      );
    });
    root.replaceChildren(row("Sampling", groups), ...(group ? [row("Stacks (two or three)", runs)] : []));
    if (focused) for (const node of root.querySelectorAll("button")) if (node.dataset.name === focused) node.focus();
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

function render({ model, el }: Drawing<Traits>) {
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
    body.replaceChildren();
    if (!data?.runs?.length) return;
    const first = fewest(data.runs.map(({ run }) => ({ rounds: run.rounds.filter(([, parent]) => parent === null) })));
    runs.load(data.runs, first);
    state = createState(
      runs,
      data.runs.map((facts, k) => readRun(facts, runs.runs[k])),
    );
    if (model.get("time") >= 0 && !motion.matches) state.set(model.get("time") * 1e6, false);
    race = raceOf(state, palette, () => motion.matches);
    score = scoreOf(state, palette, data.agreement);
    const about = make("p", "hsd-vs-about");
    const prompt = make("code", "hsd-vs-prompt", brief(data.prompt));
    prompt.title = "prompt of all runs";
    about.append(prompt, make("span", "", data.facts.join(" · ")));
    body.append(about);
    if (data.caution) body.append(make("p", "hsd-vs-caution", data.caution));
    const texts = make("h3", "", "Texts by output position");
    score.root.prepend(texts, agreementOf(data.agreement));
    const figures = tableOf(data.table, state.runs);
    if (data.doubt) figures.querySelector("h3")?.after(make("p", "hsd-vs-caution", data.doubt));
    body.append(race.root, score.root, round, figures, drawsOf(data.draws, state.runs, palette));
    closeRound = openLinked({ model: inspected as Model<never>, el: round }, runs, createInspector);
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

export default { render: guarded(render) };
