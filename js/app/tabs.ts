// What each tab shows: views of the run, answers of the host, and forms. Built when the tab is
// first opened.
import { html, nothing, render } from "lit-html";
import type { File, Host } from "../host";
import { make } from "../lib/dom";
import { area, field, menu } from "../lib/fields";
import { foldOf } from "../lib/fold";
import type { Group } from "../lib/group";
import { failure } from "../lib/notice";
import { type Store as Run, type Snapshot, storeOf } from "../lib/run";
import { unique } from "../lib/widget";
import { mount } from "../views";
import { answerView, elsewhere } from "./answer";
import { compareView } from "./compare";
import { decoded } from "./decode";
import { choose, dropField, MOST_BYTES, read } from "./files";
import { copiesOf, type Headline, timeOf } from "./headline";
import LEDES from "./ledes.json";
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
type Make = (context: Context) => Section;
/** `parts`: each with the name that the list at the top of the tab shows; `says`: its sentence. */
export interface Tab {
  title: string;
  parts: [name: string, make: Make][];
  says?: (run: Run) => Headline | null;
}
type Lede = keyof typeof LEDES | "";

/** A section with a line above its content. */
function sectionOf(lede: Lede, ...content: Node[]) {
  const root = make("section", "hsd-part");
  root.append(...(lede ? [make("p", "hsd-lede", LEDES[lede])] : []), ...content);
  return root;
}
/** A view of the run. */
const view =
  (name: string, lede: Lede = "", extra: Record<string, unknown> = {}): Make =>
  ({ state }) => ({ root: sectionOf(lede, mount(name, { ...state, ...extra }).el) });

function asked(about: string, words: string, lede: Lede = "", ofRun = true): Make {
  return ({ host, state, run }) => {
    const made = answerView(host, { about, words, run: ofRun ? run : undefined }, state);
    return { root: sectionOf(lede, made.root), refresh: made.refresh, stale: made.stale };
  };
}

/** A section below its title, made when it is first opened. */
const closed =
  (title: string, words: string, made: Make): Make =>
  (context) => {
    const root = foldOf(title, words);
    root.classList.add("hsd-part");
    let inner: Section | null = null;
    root.addEventListener("toggle", () => {
      if (!root.open || inner) return;
      try {
        inner = made(context);
      } catch (error) {
        reportError(error);
        inner = { root: failure(error) };
      }
      root.append(inner.root);
      inner.refresh?.();
    });
    return {
      root,
      refresh: () => root.open && inner?.refresh?.(),
      stale: (on) => inner?.stale?.(on),
    };
  };

/** The drafter races the recordings of the same prompt and temperature, or stacks decoded now. */
function drafter({ host, store, state, group }: Context): Section {
  /** A run of the form's settings after a text; a proposal is verified by the target's. */
  const live = (prompt: string, stack: string, max_new_tokens: number) => {
    const asked = requestOf(store.state.form, host.about.limits);
    return decoded(host, {
      ...asked,
      prompt: prompt || asked.prompt,
      chat: false,
      stack,
      max_new_tokens,
    });
  };
  const made = mount("drafter", { ...state, others: [], live: host.decode ? live : null });
  let of = "";
  async function refresh() {
    const { run, prompt, meta } = group.store;
    if (run === of) return;
    of = run;
    const found: { name: string; counts: number[] }[] = [];
    for (const one of host.about.races.filter((r) => r.prompt === prompt).flatMap((r) => r.runs)) {
      const other = await host.recording(one.name);
      if (other.meta.sampling.temperature !== meta.sampling.temperature || one.stack === "target")
        continue;
      const { rounds } = storeOf(other).index();
      found.push({ name: other.meta.stack, counts: rounds.map((r) => r.count) });
    }
    if (of === run) made.model.set("others", found as never);
  }
  return { root: sectionOf("", made.el), refresh: () => void refresh().catch(reportError) };
}

/** The law: what the host answers, else the sliders alone. */
function law(context: Context): Section {
  const made = asked("law", "The fastest stack by the latency law", "law")(context);
  if (!context.host.answers.includes("law")) {
    const sliders = {
      acceptance: 0.7,
      cost: 0.15,
      lookahead: 4,
      slope: 0.02,
      presets: [],
      source: "",
    };
    made.root.append(mount("one_draft", { ...context.state, ...sliders }).el);
  }
  return made;
}

/** Saved reports, and a file of the visitor. */
function reports({ host, state }: Context): Section {
  const root = sectionOf("");
  const made = answerView(host, { about: "report", words: "A benchmark report" }, state);
  if (host.ask && host.answers.includes("report")) {
    const open = make("button", "hsd-quiet", "Open a report", { type: "button" });
    const take = (file: globalThis.File) =>
      void read(file).then((one) => made.ask([one]), made.fail);
    open.addEventListener("click", () => choose(".json,application/json", take));
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

/** A log of another server, replayed with any drafter. */
function traffic({ host, state }: Context): Section {
  const root = sectionOf("replay");
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
  let busy = false;
  const made = answerView(
    host,
    { about: "replay", words: "The replay", options: () => ({ ...values }) },
    state,
  );
  const logField = dropField(
    "Log: choose a file, or drop it here",
    `JSON lines or one array, also .gz, up to ${MOST_BYTES / 1e6} MB ` +
      "(the command takes any size): " +
      "prompt and output as text or token ids, OpenAI chat logs, ShareGPT.",
    ".jsonl,.json,.gz",
    (file) => void (log = file),
  );
  const hint = "The tokenizer.json of the log's model.";
  const own = dropField(
    "Tokenizer: choose a file, or drop it here",
    hint,
    ".json",
    (file) => void (tokenizer = file),
  );
  async function start() {
    try {
      if (!log) throw new Error("no log: drop a file on the field above, or open one");
      if (values.tokenizer === "own" && !tokenizer)
        throw new Error(
          "no tokenizer: open the tokenizer.json of the log's model, or choose another",
        );
      const files: File[] = [await read(log)];
      if (values.tokenizer === "own" && tokenizer) files.push(await read(tokenizer));
      busy = true;
      paint();
      await made.ask(files);
    } catch (error) {
      made.fail(error);
    } finally {
      busy = false;
      paint();
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
          <button
            type="button"
            class="hsd-primary"
            title="Ctrl+Enter"
            ?disabled=${busy}
            @click=${start}
          >
            Replay
          </button>
          <button type="button" ?disabled=${!busy} @click=${made.cancel}>Cancel</button>
        </div>`,
      form,
    );
  }
  paint();
  root.append(form, made.root);
  return { root };
}

/** A record of a serving engine, diagnosed. */
function record({ host, state }: Context): Section {
  const root = sectionOf("record");
  const made = answerView(host, { about: "record", words: "The diagnosis of a record" }, state);
  if (host.ask && host.answers.includes("record")) {
    const form = make("div", "hsd-form hsd-measure");
    const take = (file: globalThis.File) =>
      void read(file).then((one) => made.ask([one]), made.fail);
    const hint =
      "Server logs, copies of /metrics, responses, streams and results of benchmarks of vLLM, " +
      "SGLang, llama.cpp, TensorRT-LLM and others, or a trace; " +
      `also .gz, up to ${MOST_BYTES / 1e6} MB.`;
    render(dropField("Record: choose a file, or drop it here", hint, "", take), form);
    root.append(form);
  }
  root.append(made.root);
  return { root };
}

const RULE_LAB = {
  tokens: ["the", "a", "one", "no"],
  p: [0.5, 0.25, 0.15, 0.1],
  lookahead: 3,
  disagreement: 0.4,
  epsilon: 0.2,
  seed: 93,
};
const tab = (title: string, ...parts: Tab["parts"]): Tab => ({ title, parts });
const saying = (says: Tab["says"], of: Tab): Tab => ({ ...of, says });
export const tabsOf = (host: Host): Tab[] => [
  tab("Watch", ["", asked("doctor", "What limits the speed-up")]),
  tab(
    "Why",
    ["The round", view("scene")],
    ["Acceptance", view("panels", "", { which: ["byPosition", "perRound"] })],
    [
      "You are the drafter",
      closed(
        "You are the drafter",
        "Propose the next tokens of this run, or of a live one.",
        drafter,
      ),
    ],
    [
      "Verification rules",
      closed(
        "Verification rules",
        "One draft under four rules, three of them lossless.",
        view("rule_lab", "", RULE_LAB),
      ),
    ],
  ),
  saying(
    copiesOf,
    tab(
      "Databases",
      ["Tokens by source", view("timeline", "", { show: "supply" })],
      ["Copied passages", view("locality_map")],
      ["Match length", view("panels", "", { which: ["byMatch", "inText"] })],
    ),
  ),
  saying(
    timeOf,
    tab(
      "Time",
      ["What survives each level", view("panels", "", { which: ["ribbons"] })],
      ["Timeline", view("timeline", "", { show: "time" })],
      ["Lookahead and the fastest stack", law],
      [
        "Other hardware",
        closed(
          "Other hardware",
          LEDES.predict,
          asked("predict", "A prediction for other hardware", "", false),
        ),
      ],
    ),
  ),
  tab(
    "Compare",
    ["Runs of one prompt", compareView],
    ["Reports on many prompts", closed("Reports on many prompts", LEDES.report, reports)],
  ),
  tab("Your traffic", ["What limits a server", record], ["What drafters would bring", traffic]),
  ...host.about.tabs.map((title) => tab(title, ["", asked(title, `The view '${title}'`)])),
];
/** Tabs that do not show the run on the page: its player scrolls away. */
export const APART = ["Compare", "Your traffic"];

/** Build a tab, with links to its parts; one that fails shows a card. */
export function built({ parts, says }: Tab, context: Context) {
  const el = make("div", "hsd-panel-body");
  const headline = make("p", "hsd-headline");
  const sections: Section[] = [];
  try {
    for (const [, make] of parts) sections.push(make(context));
  } catch (error) {
    reportError(error);
    sections.push({ root: failure(error) });
  }
  const link = ({ root }: Section, k: number) => {
    const go = (e: Event) => {
      // In a notebook, JupyterLab handles fragment links.
      e.preventDefault();
      if (root instanceof HTMLDetailsElement) root.open = true;
      root.focus({ preventScroll: true });
      root.scrollIntoView();
    };
    Object.assign(root, { id: unique(), tabIndex: -1, role: "group", ariaLabel: parts[k][0] });
    return html`<a href="#${root.id}" @click=${go}>${parts[k][0]}</a>`;
  };
  const list = make("nav", "hsd-jumps", "", { "aria-label": "Parts of this tab" });
  if (sections.length > 1) {
    render(sections.map(link), list);
    el.append(list);
  }
  if (says) el.append(headline);
  el.append(...sections.map((s) => s.root));
  const sentence: Section = {
    root: headline,
    refresh() {
      const found = says?.(context.group.store);
      headline.hidden = !found;
      render(found ? html`<strong>${found.figure}</strong> ${found.words}` : nothing, headline);
    },
  };
  return { el, sections: says ? [sentence, ...sections] : sections };
}
