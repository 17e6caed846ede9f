// What each tab shows: views of the run, answers of the host, and forms. Built when the tab is first opened.
import { html, nothing, render } from "lit-html";
import type { File, Host } from "../host";
import { make } from "../lib/dom";
import { area, field, menu } from "../lib/fields";
import type { Group } from "../lib/group";
import { failure } from "../lib/notice";
import type { Snapshot } from "../lib/run";
import { mount } from "../views";
import { answerView, elsewhere } from "./answer";
import { compareView } from "./compare";
import { decoded } from "./decode";
import { choose, dropField, read } from "./files";
import { requestOf, type Store } from "./state";

/** A part of a tab: an element that may have to be asked for again when the run changes. */
export interface Section {
  root: HTMLElement;
  refresh?(): void;
  /** Mark what is of the run before, while another is in progress. */
  stale?(on: boolean): void;
}
export interface Context {
  host: Host;
  store: Store;
  group: Group;
  /** Traits of every view of the page. */
  state: Record<string, unknown>;
  /** The run shown as columns, once it is complete. */
  run(): Snapshot | null;
}
export interface Tab {
  title: string;
  /** Whether it shows the run on the page; else the player scrolls away. */
  follows: boolean;
  build(context: Context): Section[];
}

const lede = (words: string) => make("p", "hsd-lede", words);
/** A view of the run with a line above it. */
function view(name: string, words = "", extra: Record<string, unknown> = {}) {
  return ({ state }: Context): Section => {
    const root = make("section", "hsd-part");
    if (words) root.append(lede(words));
    root.append(mount(name, { ...state, ...extra }).el);
    return { root };
  };
}
const panels = (...which: string[]) => view("panels", "", { which });

function asked(about: string, words: string, title = "", ofRun = true) {
  return ({ host, state, run }: Context): Section => {
    const made = answerView(host, { about, words, run: ofRun ? run : undefined }, state);
    const root = make("section", "hsd-part");
    if (title) root.append(lede(title));
    root.append(made.root);
    return { root, refresh: made.refresh, stale: made.stale };
  };
}

/** The drafter races the recordings of the same prompt and temperature, or stacks decoded now. */
function drafter({ host, store, state, group }: Context): Section {
  const root = make("section", "hsd-part");
  /** A run of the form's settings after a text; a proposal is verified by the target's. */
  const live = (prompt: string, stack: string, max_new_tokens: number) => {
    const asked = requestOf(store.state.form, host.about.limits);
    return decoded(host, { ...asked, prompt: prompt || asked.prompt, chat: false, stack, max_new_tokens });
  };
  const made = mount("drafter", { ...state, others: [], live: host.decode ? live : null });
  root.append(lede("You are the drafter: propose the next tokens of a text, and race the other drafters."), made.el);
  let of = "";
  async function refresh() {
    const { run, prompt, meta } = group.store;
    if (run === of) return;
    of = run;
    const found: { name: string; counts: number[] }[] = [];
    for (const one of host.about.races.filter((r) => r.prompt === prompt).flatMap((r) => r.runs)) {
      const other = await host.recording(one.name);
      if (other.meta.sampling.temperature !== meta.sampling.temperature || one.stack === "target") continue;
      const counts = new Map<number, number>();
      for (const round of other.tokens.round) counts.set(round, (counts.get(round) ?? 0) + 1);
      found.push({ name: other.meta.stack, counts: [...counts].sort((a, b) => a[0] - b[0]).map(([, n]) => n) });
    }
    if (of === run) made.model.set("others", found as never);
  }
  return { root, refresh: () => void refresh().catch(reportError) };
}

/** The law: what the host answers, else the sliders alone. */
function law(context: Context): Section {
  const made = asked(
    "law",
    "The fastest stack by the latency law",
    "The fastest stack of models and databases by this project's latency law, predicted from the calibration named below each figure and compared with measurements. No model runs here.",
  )(context);
  if (!context.host.answers.includes("law")) {
    const sliders = { acceptance: 0.7, cost: 0.15, lookahead: 4, slope: 0.02, presets: [], source: "" };
    made.root.append(
      make("h3", "", "What if: one draft model"),
      mount("one_draft", { ...context.state, ...sliders }).el,
    );
  }
  return made;
}

/** Saved reports, and a file of the visitor. */
function reports({ host, state }: Context): Section {
  const root = make("section", "hsd-part");
  root.append(
    lede(
      "Stacks compared over a suite of prompts: reports of hsd-viz bench --json, with intervals, and with the repetition of the texts.",
    ),
  );
  const made = answerView(host, { about: "report", words: "A benchmark report" }, state);
  if (host.ask && host.answers.includes("report")) {
    const open = make("button", "hsd-quiet", "Open a report", { type: "button" });
    open.addEventListener("click", () =>
      choose(".json,application/json", (file) => {
        read(file).then((one) => made.ask([one]), made.fail);
      }),
    );
    root.append(open);
  }
  root.append(made.root);
  return { root, refresh: made.refresh };
}

const TOKENIZERS = [
  ["target", "the ladder's, with its databases"],
  ["", "none: token ids"],
  ["own", "another model's file"],
];
const COSTS = [
  ["cpu", "0.15 steps per token (small CPU)"],
  ["free16", "free up to 16 tokens (GPU with room)"],
];
const DRAFTERS = ["db", "hd", "lookup", "sam", "suffix", "ngram-cache"];
/** A log travels in one message here; larger ones are for the command. */
const MOST_LOG = 8_000_000;

/** A log of another server, replayed with any drafter. */
function traffic({ host, state }: Context): Section {
  const root = make("section", "hsd-part");
  root.append(
    lede(
      "What drafters would have brought on your own traffic. Drafts never change a text, so a log of prompts and outputs is enough: no model runs. The log stays on this machine; results hold no text of it.",
    ),
  );
  if (!host.ask || !host.answers.includes("replay")) {
    const card = make("div");
    render(elsewhere("replay", "Replaying a log"), card);
    root.append(card);
    return { root };
  }
  const form = make("div", "hsd-form hsd-measure");
  const values = { tokenizer: "target", costs: "cpu", drafters: DRAFTERS.join("\n") };
  let log: globalThis.File | null = null;
  let tokenizer: globalThis.File | null = null;
  const made = answerView(host, { about: "replay", words: "The replay", options: () => ({ ...values }) }, state);
  const logField = dropField(
    "Log: choose a file, or drop it here",
    `JSON lines or one array, also .gz, up to ${MOST_LOG / 1e6} MB (the command takes any size): prompt and output as text or token ids, OpenAI chat logs, ShareGPT.`,
    ".jsonl,.json,.gz",
    (file) => {
      log = file;
    },
  );
  const own = dropField(
    "Tokenizer: choose a file, or drop it here",
    "The tokenizer.json of the log's model.",
    ".json",
    (file) => {
      tokenizer = file;
    },
  );
  async function start() {
    try {
      if (!log) throw new Error("no log: drop a file on the field above, or open one");
      if (values.tokenizer === "own" && !tokenizer)
        throw new Error("no tokenizer: open the tokenizer.json of the log's model, or choose another");
      const files: File[] = [await read(log, MOST_LOG)];
      if (values.tokenizer === "own" && tokenizer) files.push(await read(tokenizer));
      await made.ask(files);
    } catch (error) {
      made.fail(error);
    }
  }
  const set = (change: Partial<typeof values>) => {
    Object.assign(values, change);
    paint();
  };
  function paint() {
    render(
      html`${logField}
        <div class="hsd-fields">
          ${field(
            "Tokenizer of the log",
            menu(TOKENIZERS, values.tokenizer, (tokenizer) => set({ tokenizer })),
          )}
          ${field(
            "Cost of verifying a draft",
            menu(COSTS, values.costs, (costs) => set({ costs })),
          )}
        </div>
        ${values.tokenizer === "own" ? own : nothing}
        ${area("Drafters, one per line", 7, values.drafters, (drafters) => set({ drafters }))}
        <div class="hsd-buttons">
          <button type="button" class="hsd-primary" title="Count the forward passes that each drafter would have needed (Ctrl+Enter)" @click=${start}>Replay</button>
          <button type="button" title="Stop and keep what was replayed" @click=${made.cancel}>Cancel</button>
        </div>`,
      form,
    );
  }
  paint();
  root.append(form, made.root);
  return { root };
}

export const tabsOf = (host: Host): Tab[] => [
  {
    title: "Watch",
    follows: true,
    build: (c) => [asked("doctor", "What limits the speed-up")].map((make) => make(c)),
  },
  {
    title: "Why",
    follows: true,
    build: (c) =>
      [
        view(
          "scene",
          "The target round under the cursor, level by level: what each drafted, what each stopped, and why. All values are recorded.",
        ),
        drafter,
        view(
          "rule_lab",
          "Verification rules on one draft: token, block and branch verification, and a lossy rule.",
          RULE_LAB,
        ),
        view("panels", "Acceptance in the run shown: what was accepted, and at which positions.", {
          which: ["byPosition", "perRound"],
        }),
      ].map((make) => make(c)),
  },
  {
    title: "Databases",
    follows: true,
    build: (c) =>
      [
        view("timeline", "Which level supplied what: tokens and drafts by source, round by round."),
        view("locality_map"),
        panels("byMatch"),
      ].map((make) => make(c)),
  },
  {
    title: "Time",
    follows: true,
    build: (c) =>
      [
        view("timeline", "Every forward pass and look-up of the run shown, with recorded times."),
        panels("ribbons"),
        law,
        asked(
          "predict",
          "A prediction for other hardware",
          "Speed-ups on hardware that is not at hand, by the same law.",
          false,
        ),
      ].map((make) => make(c)),
  },
  {
    title: "Compare",
    follows: false,
    build: (c) => [compareView(c), reports(c)],
  },
  { title: "Your traffic", follows: false, build: (c) => [traffic(c)] },
  ...host.about.tabs.map(
    (title): Tab => ({ title, follows: true, build: (c) => [asked(title, `The view '${title}'`)(c)] }),
  ),
];

const RULE_LAB = {
  tokens: ["the", "a", "one", "no"],
  p: [0.5, 0.25, 0.15, 0.1],
  lookahead: 3,
  disagreement: 0.4,
  epsilon: 0.2,
  seed: 93,
};

/** Build a tab; one that fails shows a card. */
export function built(tab: Tab, context: Context): Section[] {
  try {
    return tab.build(context);
  } catch (error) {
    reportError(error);
    return [{ root: failure(error) }];
  }
}
