// What the scenes of the article share: controls, runs, tokens, staircases.
import { draw, make } from "../lib/dom";
import { createStore, type Store } from "../lib/run";
import type { Draft, Token } from "../lib/tables";
import type { Client, Finished } from "../tab/client";

/** What hsd_viz/views/site.py writes into the page. */
export interface SiteData {
  hues: Record<string, { label: string; light: string; dark: string }>;
  prompts: { title: string; prompt: string }[];
  /** A machine where verification is nearly free: predicted milliseconds of a pass over 1, 2, 3, ... tokens, by ladder name. */
  gpu: { words: string; models: Record<string, string>; milliseconds: Record<string, number[]> };
  /** Measured milliseconds of a pass of the native runtime by the number of tokens, by ladder name. */
  native: Record<string, Record<string, number>>;
}
/** What all scenes decode. */
export interface Shared {
  readonly prompt: string;
  readonly temperature: number;
  readonly seed: number;
}
export interface Scene {
  el: HTMLElement;
  client: Client;
  data: SiteData;
  shared: Shared;
}
/** A finished run: its rows, and what `hsd-viz decode --json` would print. */
export interface Run extends Finished {
  store: Store;
}

export const percent = (x: number) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)} %`;

export function button(words: string, pressed: () => void): HTMLButtonElement {
  const node = make("button", "", words);
  node.type = "button";
  node.addEventListener("click", pressed);
  return node;
}
export function choice(label: string, options: [value: string, words: string][], changed = () => {}) {
  const box = make("label", "field", label);
  const select = make("select");
  for (const [value, words] of options) select.append(new Option(words, value));
  select.addEventListener("change", changed);
  box.append(select);
  return { box, select };
}
export function slider(label: string, least: number, most: number, value: number, changed = () => {}) {
  const box = make("label", "field", `${label} `);
  const input = make("input");
  const shown = make("output", "", String(value));
  Object.assign(input, { type: "range", min: String(least), max: String(most), value: String(value) });
  input.addEventListener("input", () => {
    shown.textContent = input.value;
    changed();
  });
  box.append(shown, input);
  return { box, input, value: () => Number(input.value) };
}
export function tick(label: string, checked: boolean) {
  const box = make("label", "tick");
  const input = make("input");
  Object.assign(input, { type: "checkbox", checked });
  box.append(input, label);
  return { box, input };
}
/** Replace the content of an element. */
export function show(el: Element, ...content: (Node | string)[]) {
  el.replaceChildren(...content);
}

/** A button that decodes: it cancels while it runs, and shows stages and errors beside itself. */
export function action(words: string, work: (signal: AbortSignal, say: (text: string) => void) => Promise<void>) {
  const status = make("span", "status");
  status.setAttribute("role", "status");
  let running: AbortController | null = null;
  const node = button(words, async () => {
    if (running) return running.abort();
    running = new AbortController();
    node.textContent = "Cancel";
    status.classList.remove("bad");
    try {
      await work(running.signal, (text) => {
        status.textContent = text;
      });
      status.textContent = "";
    } catch (error) {
      status.textContent = (error as Error).message;
      status.classList.add("bad");
    } finally {
      running = null;
      node.textContent = words;
    }
  });
  const box = make("div", "action");
  box.append(node, status);
  return { box, press: () => node.click() };
}

/** Decode with a stack; `seen` is called with the rows so far, as they come. */
export async function decode(
  { client, shared }: Scene,
  stack: string,
  tokens: number,
  signal: AbortSignal,
  say: (text: string) => void,
  seen: (store: Store) => void = () => {},
): Promise<Run> {
  const store = createStore();
  const { prompt, temperature, seed } = shared;
  const finished = await client.decode(
    // The rule of the scenes' words; the command line's own default is another one.
    { prompt, temperature, seed, stack, max_new_tokens: tokens, rule: "token" },
    {
      stage: (text, done, total) => say(total ? `${text}: ${done} of ${total}` : text),
      begin: (run) => {
        say(`decoding with ${stack}`);
        store.adopt(run);
      },
      append: (steps) => {
        store.receive(steps);
        seen(store);
      },
    },
    signal,
  );
  store.adopt(finished.run);
  return { ...finished, store };
}

/** Turns of runs that are compared; other work of the machine slows single ones. */
export const TURNS = 3;
/** Decode with stacks in turns, and keep the fastest run of each. `seen` is called with those so far. */
export async function inTurns(
  scene: Scene,
  stacks: string[],
  tokens: number,
  signal: AbortSignal,
  say: (text: string) => void,
  seen: (runs: Map<string, Run>) => void = () => {},
): Promise<Map<string, Run>> {
  const fastest = new Map<string, Run>();
  const speed = (run?: Run) => run?.result.metrics.tokens_per_second ?? 0;
  for (let turn = 1; turn <= TURNS; turn++) {
    for (const stack of stacks) {
      const run = await decode(scene, stack, tokens, signal, (text) => say(`${text}, turn ${turn} of ${TURNS}`));
      if (signal.aborted) throw new DOMException("Cancelled.", "AbortError");
      if (speed(run) > speed(fastest.get(stack))) fastest.set(stack, run);
      seen(fastest);
    }
  }
  return fastest;
}

/** Text with visible line breaks and spaces at its ends. */
export const visible = (text: string) => text.replace(/\n/g, "⏎\n").replace(/^ | $/g, "·");

/** An emitted token. */
export function emitted(token: Token): HTMLElement {
  const node = make("span", `token ${token.kind}`, token.text);
  node.dataset.source = token.source;
  return node;
}
/** A draft token as its verifier left it; `ghost`: not verified yet. */
export function drafted(draft: Draft, ghost = false): HTMLElement {
  const node = make("span", `token ${ghost ? "ghost" : draft.verdict}`, visible(draft.text));
  node.dataset.source = draft.source;
  return node;
}
/** The legend of some sources. */
export function legend(data: SiteData, sources: Iterable<string>): HTMLElement {
  const list = make("ul", "legend");
  for (const source of new Set(sources)) {
    const item = make("li", "", data.hues[source]?.label ?? source);
    item.dataset.source = source;
    list.append(item);
  }
  return list;
}

export interface Stairs {
  label: string;
  /** Of each target round: end in ms, and its tokens by source. */
  rounds: { to: number; sources: string[] }[];
}
/** The staircase of a run: a tread is what a round took, a riser what it brought. */
export function stairs(label: string, { order, rounds, tokens }: Store): Stairs {
  const ids = [...order.keys()];
  const zero = rounds.get(ids[0])?.start_ns ?? 0;
  const of = new Map<number, string[]>(ids.map((id) => [id, []]));
  for (const token of tokens) of.get(token.round)?.push(token.source);
  const steps = ids.map((id) => {
    const { start_ns, duration_ns } = rounds.get(id) as { start_ns: number; duration_ns: number };
    return { to: (start_ns + duration_ns - zero) / 1e6, sources: of.get(id) ?? [] };
  });
  return { label, rounds: steps };
}

/** Draw staircases over one clock; the first run is the strongest. */
export function drawStairs(el: HTMLElement, runs: Stairs[]) {
  const width = Math.max(280, el.clientWidth);
  const height = 240;
  const [left, right, top, bottom] = [34, 12, 12, 34];
  const end = Math.max(...runs.map((run) => run.rounds.at(-1)?.to ?? 0), 1);
  const most = Math.max(...runs.map((run) => run.rounds.reduce((sum, round) => sum + round.sources.length, 0)), 1);
  const x = (ms: number) => left + ((width - left - right) * ms) / end;
  const y = (tokens: number) => height - bottom - ((height - top - bottom) * tokens) / most;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "stairs" });
  svg.append(draw("title", {}, `Tokens over time: ${runs.map((run) => run.label).join(", ")}`));
  const axis = (ms: number) => draw("text", { x: x(ms), y: height - 20, class: "mark" }, `${Math.round(ms)}`);
  svg.append(axis(0), axis(end / 2), axis(end));
  svg.append(
    draw("text", { x: x(end / 2), y: height - 6, class: "mark" }, "milliseconds after the prompt, in this tab"),
  );
  svg.append(draw("text", { x: 2, y: y(most) + 4, class: "number" }, String(most)));
  svg.append(draw("text", { x: 2, y: y(0), class: "number" }, "0"));
  runs.forEach((run, k) => {
    let tokens = 0;
    let from = 0;
    for (const { to, sources } of run.rounds) {
      svg.append(draw("path", { d: `M${x(from)} ${y(tokens)}H${x(to)}`, class: k ? "tread pale" : "tread" }));
      from = to;
      for (const source of sources) {
        const riser = draw("path", { d: `M${x(to)} ${y(tokens)}V${y(tokens + 1)}`, class: k ? "riser pale" : "riser" });
        riser.dataset.source = source;
        svg.append(riser);
        tokens++;
      }
    }
  });
  // The names in the order of arrival, below the stairs.
  const arrived = [...runs].sort((a, b) => (a.rounds.at(-1)?.to ?? 0) - (b.rounds.at(-1)?.to ?? 0));
  arrived.forEach((run, k) => {
    const line = y(0) - 8 - 15 * (arrived.length - 1 - k);
    const words = `${arrived.length > 1 ? `${k + 1}. ` : ""}${run.label}: ${Math.round(run.rounds.at(-1)?.to ?? 0)} ms`;
    svg.append(draw("text", { x: width - right - 4, y: line, class: "name end" }, words));
  });
  show(el, svg);
}
