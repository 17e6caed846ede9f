// The scenes of the article: each decodes in this tab, and shows its runs by the views of the page.
import { html, render } from "lit-html";
import type { About } from "../host";
import type * as Page from "../hsd-viz";
import type { Snapshot, Store } from "../lib/run";
import type { Call } from "../lib/tables";
import type { Client, On, Request, Result } from "../tab/client";
import { clientOf, recording } from "../tab/host";
import { type FamilyTab, type Offer, offerPanel } from "../tab/offers";

/** What hsd_viz/views/site.py writes into the page. */
export interface SiteData extends About {
  /** Families that the site has, for those who ask for them. */
  offers: Offer[];
  /** Size of the models and databases. */
  bytes: number;
  /**
   * A machine where verification is nearly free: predicted milliseconds of a pass over 1, 2, 3, ...
   * tokens, by ladder name.
   */
  gpu: { words: string; models: Record<string, string>; milliseconds: Record<string, number[]> };
  /**
   * Measured milliseconds of a pass of the native runtime by the number of tokens, by ladder name.
   */
  native: Record<string, Record<string, number>>;
}
/** What all scenes share. */
export interface Article {
  client: Client;
  tabs: readonly FamilyTab[];
  data: SiteData;
  page: typeof Page;
  settings(): { prompt: string; temperature: number; seed: number };
}
interface Run {
  store: Store;
  result: Result;
}
/** What a scene's work is given: when to stop, and where to say how far it is. */
interface Work {
  signal: AbortSignal;
  say: (text: string) => void;
}

/** The ladder name of a level: the target is the largest model. */
export const ladderPart = (name: string) => (name === "ladder-target" ? "target" : name);

/**
 * Milliseconds that a run's passes take where a pass of a model over m tokens costs
 * `milliseconds[name][m - 1]`. Drafting from databases is counted as measured here. Prefill is left
 * out.
 */
export function elsewhere(calls: Call[], milliseconds: Record<string, number[]>): number {
  const cost = (name: string, fed: number) => {
    const curve = milliseconds[ladderPart(name)];
    return curve[Math.min(fed, curve.length) - 1];
  };
  let sum = 0;
  for (const { kind, name, steps, fed, duration_ns } of calls) {
    if (kind === "verify") sum += cost(name, fed);
    // The first of several passes also feeds what is not cached.
    else if (kind === "draft") sum += cost(name, fed - steps + 1) + (steps - 1) * cost(name, 1);
    else if (kind !== "prefill") sum += duration_ns / 1e6;
  }
  return sum;
}

const HEADS = ["Stack", "Tokens/s", "Speed-up here", "Speed-up there", "Tokens per target pass"];
const WIDTHS = [1, 2, 4, 8, 16];
const TOKENS = 64;
/** Turns of runs that are compared; other work of the machine slows single ones. */
const TURNS = 3;
const times = (x: number) => `${x.toFixed(2)} ×`;
const place = (name: string) => document.getElementById(`scene-${name}`) as HTMLElement;

/**
 * Controls and a button that works, and cancels while it does; returns the element below for what
 * it shows.
 */
function scene(
  el: HTMLElement,
  controls: unknown,
  words: string,
  act: (given: FormData, work: Work) => Promise<void>,
) {
  const form = document.createElement("form");
  form.className = "controls";
  const out = document.createElement("div");
  el.replaceChildren(form, out);
  let running: AbortController | null = null;
  const paint = (status = "", bad = false) =>
    render(
      html`${controls}<button class="main">${running ? "Cancel" : words}</button
        ><span class=${bad ? "status bad" : "status"} role="status">${status}</span>`,
      form,
    );
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (running) return running.abort();
    running = new AbortController();
    paint();
    let failed = "";
    try {
      await act(new FormData(form), { signal: running.signal, say: paint });
    } catch (error) {
      failed = (error as Error).message;
    }
    running = null;
    paint(failed, Boolean(failed));
  });
  paint();
  return out;
}
const menu = (label: string, name: string, options: [value: string, words: string][]) =>
  html`<label
    >${label}
    <select name=${name}>
      ${options.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
    </select></label
  >`;
const tick = (name: string, value: string, words: string, on: boolean) =>
  html`<label><input type="checkbox" name=${name} value=${value} ?checked=${on} />${words}</label>`;

/** Decode with a stack into a store, which grows with the run. */
async function decode(
  article: Article,
  stack: string,
  tokens: number,
  store: Store,
  work: Work,
  more: Partial<Request> = {},
) {
  const { settings } = article;
  const { signal, say } = work;
  // The rule of the scenes' words; the command line's own default is another one.
  const request = { ...settings(), ...more, stack, max_new_tokens: tokens, rule: "token" };
  const on: On = {
    stage: (text, done, total) => say(total ? `${text}: ${done} of ${total}` : text),
    begin(run) {
      say(`decoding with ${stack}`);
      store.adopt(run);
    },
    append: (steps) => void store.receive(steps),
  };
  const client = clientOf(article.client, article.tabs, more.family);
  const { run, result } = await client.decode(request, on, signal);
  store.adopt({ ...run, meta: { ...run.meta, stop_reason: result.stop_reason } });
  if (signal.aborted) throw new DOMException("Cancelled.", "AbortError");
  return { store, result };
}
/** Decode with stacks in turns, and keep the fastest run of each. */
async function inTurns(article: Article, stacks: string[], { signal, say }: Work) {
  const fastest = new Map<string, Run>();
  const speed = (run?: Run) => run?.result.metrics.tokens_per_second ?? 0;
  for (let turn = 1; turn <= TURNS; turn++)
    for (const stack of stacks) {
      const turns = { signal, say: (text: string) => say(`${text}, turn ${turn} of ${TURNS}`) };
      const run = await decode(article, stack, TOKENS, article.page.createStore(), turns);
      if (speed(run) > speed(fastest.get(stack))) fastest.set(stack, run);
    }
  return fastest;
}

/** Views of one group in an element, drawn once there is a run. */
function views({ page, data }: Article, group: string, parts: [name: string, el: HTMLElement][]) {
  const state = {
    palette: data.palette,
    group,
    cursor: null,
    pinned: -1,
    live: false,
    ghosts: true,
  };
  let drawn = false;
  return () => {
    if (!drawn) for (const [name, el] of parts) page.mount(name, { ...state }, el);
    drawn = true;
    return page.hsdGroup(group);
  };
}
/** The race of some runs, the first of which is the reference. */
function race(article: Article, el: HTMLElement, runs: Iterable<Run>) {
  raceOf(
    article,
    el,
    [...runs].map(({ store }) => store.snapshot()),
  );
}
function raceOf({ page, data }: Article, el: HTMLElement, runs: Snapshot[]) {
  const shown = {
    palette: data.palette,
    titles: {},
    sources: data.sources,
    pinned: -1,
    time: -1,
    brief: true,
  };
  el.replaceChildren();
  page.mount("versus", { ...shown, runs }, el);
}

/** The line above what a scene shows at first. */
const RECORDED = "Recorded on a CPU. The button replaces it by a run of this tab.";
/**
 * Show recorded runs where a scene has none of its own yet; what fails leaves the scene with its
 * button.
 */
function opened(names: string[], el: HTMLElement, show: (runs: Snapshot[]) => void) {
  const note = document.createElement("p");
  note.className = "note";
  note.textContent = RECORDED;
  const used = () => el.dataset.own === "yes";
  Promise.all(names.map(recording)).then((runs) => {
    if (used()) return;
    el.before(note);
    show(runs);
  }, reportError);
  return () => {
    el.dataset.own = "yes";
    note.remove();
  };
}

/** One pass, many tokens: the time of a forward pass by the number of tokens that it checks. */
function passes({ client, data }: Article) {
  const models = ["target", "small", "nano"].map((name): [string, string] => [name, name]);
  const out = scene(
    place("passes"),
    menu("Model", "model", models),
    "Measure in this tab",
    async (given, { signal, say }) => {
      const name = String(given.get("model"));
      show(name, await client.time(name, WIDTHS, { stage: (text) => say(text) }, signal));
    },
  );
  /** The times of a model; `found`: those of this tab, once they are measured. */
  function show(name: string, found: Record<string, number> | null) {
    const native = data.native[name];
    const gpu = data.gpu.milliseconds[name];
    const cells = (ms: Record<string, number> | null, m: number) =>
      ms
        ? html`<td>${ms[m].toFixed(2)} ms</td>
            <td>${times(ms[m] / ms[1])}</td>`
        : html`<td>–</td>
            <td>–</td>`;
    const words = found
      ? html`Here, a pass over 8 tokens costs ${times(found[8] / found[1])} a pass over one; eight
        passes one after the other cost 8.00 ×.`
      : html`Natively, a pass over 8 tokens costs ${times(native[8] / native[1])} a pass over one;
        eight passes one after the other cost 8.00 ×.`;
    render(
      html`<table>
          <tr>
            <th>Tokens</th>
            <th colspan="2">One pass in this tab</th>
            <th colspan="2">Native</th>
          </tr>
          ${WIDTHS.map(
            (m) =>
              html`<tr>
                <td>${m}</td>
                ${cells(found, m)}${cells(native, m)}
              </tr>`,
          )}
        </table>
        <p>
          ${words} On ${data.gpu.words} the ratio is ${times(gpu[7] / gpu[0])} for
          ${data.gpu.models[name]} (predicted).
        </p>
        <p class="note">
          Native: hsd-viz on one thread of an AMD EPYC with AVX-512, measured on a quiet machine.
        </p>`,
      out,
    );
  }
  show("target", null);
}

/**
 * Draft and verify: the text of a run, the round under its cursor, and its race against plain
 * decoding.
 */
function draftAndVerify(article: Article) {
  const drafters: [string, string][] = [
    ["nano", "nano, a small model"],
    ["small", "small, a larger one"],
    ["db", "databases"],
  ];
  const controls = html`${menu("Drafter", "drafter", drafters)}<label
      >Lookahead <input type="number" name="look" min="1" max="12" value="4"
    /></label>`;
  const [verify, chart] = [document.createElement("div"), document.createElement("div")];
  const out = scene(place("draft"), controls, "Draft and verify 64 tokens", async (given, work) => {
    const name = String(given.get("drafter"));
    const stack = name === "db" ? "db > target" : `${name}:${given.get("look")} > target`;
    own();
    await decode(article, stack, TOKENS, shown().store, work);
    const runs = await inTurns(article, ["target", stack], work);
    race(article, chart, runs.values());
  });
  const shown = views(article, "draft", [
    ["stream", out],
    ["scene", verify],
  ]);
  place("verify").replaceChildren(verify, chart);
  const [plain, drafted] = ["plain", "databases"].map((name) => `sampled/${name}`);
  const own = opened(["sampled", plain, drafted], out, ([run, ...pair]) => {
    shown().store.adopt(run);
    raceOf(article, chart, pair);
  });
}

/** Why sampling stays exact: darts on the rows of a real correction. */
function darts(article: Article) {
  const out = scene(place("darts"), "", "Take a rejected token of a real run", async (_, work) => {
    const store = article.page.createStore();
    const hot = { temperature: 1, seed: Math.floor(Math.random() * 1e6) };
    await decode(article, "small:4 > target", TOKENS, store, work, hot);
    const found = store.tokens.some(
      (token) => token.kind === "correction" && token.residual_top?.length,
    );
    if (!found) throw new Error("No token was rejected in this run: try another prompt.");
    own();
    // The scene opens on a round whose darts fall on both sides.
    shown().store.adopt(store.snapshot());
  });
  const shown = views(article, "darts", [["scene", out]]);
  const own = opened(["sampled"], out, ([run]) => shown().store.adopt(run));
}

/** Copying from databases: which database supplied a token, and where it was copied from. */
function databases(article: Article) {
  const names = ["context", "model", "statistics"];
  const ticks = names.map((name) => tick("db", name, article.data.palette.hues[name].label, true));
  const arcs = document.createElement("div");
  const out = scene(place("databases"), ticks, "Decode with databases", async (given, work) => {
    if (!given.has("db")) throw new Error("Choose at least one database.");
    own();
    await decode(
      article,
      `db[${given.getAll("db").join(",")}] > target`,
      2 * TOKENS,
      shown().store,
      work,
    );
  });
  out.after(arcs);
  const shown = views(article, "databases", [
    ["stream", out],
    ["locality_map", arcs],
  ]);
  const own = opened(["copied"], out, ([run]) => shown().store.adopt(run));
}

const RACERS = [
  ...["db > target", "small:4 > target", "nano:4 > target"],
  ...["db > small:4 > target", "nano:3 > small:6 > target", "db > nano:4 > small:7 > target"],
];
const OPENING = ["db > target", "db > small:4 > target"];

/**
 * Hierarchies and when they pay: stacks on the same prompt in this tab, and the same rounds where
 * verification is nearly free.
 */
function hierarchies(article: Article) {
  const { gpu } = article.data;
  const chart = document.createElement("div");
  const ticks = RACERS.map((stack) => tick("stack", stack, stack, OPENING.includes(stack)));
  const out = scene(place("hierarchies"), ticks, "Race in this tab", async (given, work) => {
    const stacks = given.getAll("stack").map(String);
    if (stacks.length < 1 || stacks.length > 2)
      throw new Error("Choose one or two stacks; plain decoding races, too.");
    const runs = await inTurns(article, ["target", ...stacks], work);
    own();
    race(article, chart, runs.values());
    const here = ({ result }: Run) => result.metrics.tokens_per_second ?? 0;
    const there = ({ store }: Run) =>
      store.tokens.length / elsewhere(store.calls, gpu.milliseconds);
    const plain = runs.get("target") as Run;
    const models = Object.entries(gpu.models)
      .map(([name, model]) => `${model} for ${name}`)
      .join(", ");
    const row = ([stack, run]: [string, Run]) =>
      html`<tr>
        <td><code>${stack}</code></td>
        <td>${here(run).toFixed(0)}</td>
        <td>${times(here(run) / here(plain))}</td>
        <td>${times(there(run) / there(plain))}</td>
        <td>${Number(run.result.metrics.mean_acceptance_length).toFixed(2)}</td>
      </tr>`;
    render(
      html`<table>
          <tr>
            ${HEADS.map((head) => html`<th>${head}</th>`)}
          </tr>
          ${[...runs].map(row)}
        </table>
        <p class="note">
          Here: measured in this tab, the fastest of ${TURNS} runs each, in turns. There: the same
          forward passes at the predicted costs of ${gpu.words} (${models}), drafting from databases
          as measured here. Acceptance is that of the models of this tab; other models accept more
          or less.
        </p>`,
      out,
    );
  });
  out.after(chart);
  const names = ["plain", "databases", "both"].map((name) => `sampled/${name}`);
  const own = opened(names, chart, (runs) => raceOf(article, chart, runs));
}

/** A family that the reader has downloaded: an answer, by a stack of its models. */
function answers(article: Article) {
  const [tab] = article.tabs;
  const family = article.data.families?.find(({ name }) => name === tab?.offer.family);
  if (!tab || !family) return;
  const el = place("answers");
  const panel = offerPanel(tab);
  const inner = document.createElement("div");
  const drafts = family.models
    .filter((name) => name !== "target")
    .map((name) => `${name}:4 > target`);
  const stacks = ["db > target", ...drafts, "target"].map((stack): [string, string] => [
    stack,
    stack,
  ]);
  el.replaceChildren(panel, inner);
  const question = document.createElement("textarea");
  Object.assign(question, { name: "prompt", rows: 4, maxLength: 4000, value: family.prompt });
  question.setAttribute("aria-label", "Question");
  const choose = ({ target }: { target: HTMLSelectElement }) => {
    question.value =
      family.prompts.find(({ title }) => title === target.value)?.prompt ?? question.value;
  };
  const tasks = family.prompts.map(({ title, prompt }) => ({
    title,
    on: prompt === family.prompt,
  }));
  const controls = html`<label
      >Task
      <select @change=${choose}>
        ${tasks.map(({ title, on }) => html`<option ?selected=${on}>${title}</option>`)}
      </select></label
    >
    ${menu("Stack", "stack", stacks)}${question}`;
  const out = scene(inner, controls, "Answer in this tab", async (given, work) => {
    const asked = { prompt: String(given.get("prompt")), family: family.name, chat: family.chat };
    await decode(article, String(given.get("stack")), 2 * TOKENS, shown().store, work, asked);
  });
  const stairs = document.createElement("div");
  out.before(stairs);
  const shown = views(article, "answers", [
    ["staircase", stairs],
    ["stream", out],
  ]);
}

export function scenes(article: Article) {
  for (const start of [passes, draftAndVerify, darts, databases, hierarchies, answers])
    start(article);
}
