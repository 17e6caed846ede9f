// What each tab shows: views of the run, answers of the host, and forms. Built when the tab is
// first opened.
import { html, render } from "lit-html";
import type { Host } from "../host";
import { make } from "../lib/dom";
import { foldOf } from "../lib/fold";
import { failure } from "../lib/notice";
import { type Store as Run, storeOf } from "../lib/run";
import type { Round } from "../lib/tables";
import { unique } from "../lib/widget";
import { mount } from "../views";
import { AnswerView } from "./answer";
import { compareView } from "./compare";
import { decoded } from "./decode";
import { choose, read } from "./files";
import { acceptedOf, copiesOf, type Headline, headlineOf, timeOf } from "./headline";
import LEDES from "./ledes.json";
import { fastestWords, originOf } from "./origin";
import type { Context, Section } from "./section";
import { requestOf } from "./state";
import { record, traffic } from "./traffic";

type Make = (context: Context) => Section;
export interface Tab {
  title: string;
  /** Each with its name in the list of the tab's parts. */
  parts: [name: string, make: Make][];
  /** Its headline for a run, with a figure that is not of its speed; null: it has none. */
  says?: (run: Run) => Headline | null;
  /** It is not about the run on the page, which is hidden. */
  isApart?: boolean;
}

/** A section of the page around its content. */
function sectionOf(...content: Node[]) {
  const root = make("section", "hsd-part");
  root.append(...content);
  return root;
}
const ledeOf = (name: keyof typeof LEDES) => make("p", "hsd-lede", LEDES[name]);
/** A view of the run. */
const view =
  (name: string, extra: Record<string, unknown> = {}): Make =>
  ({ state }) => ({ root: sectionOf(mount(name, { ...state, ...extra }).el) });

function asked(about: string, words: string, ofRun = true): Make {
  return ({ host, state, run }) => {
    const made = new AnswerView(host, { about, words, run: ofRun ? run : undefined }, state);
    return {
      root: sectionOf(made.root),
      refresh: made.refresh,
      stale: (on) => made.stale(on),
    };
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
    const others: { name: string; counts: number[] }[] = [];
    for (const one of host.about.races.filter((r) => r.prompt === prompt).flatMap((r) => r.runs)) {
      const other = await host.recording(one.name);
      if (other.meta.sampling.temperature !== meta.sampling.temperature || one.stack === "target")
        continue;
      const { rounds } = storeOf(other).index();
      others.push({ name: other.meta.stack, counts: rounds.map((r) => r.count) });
    }
    if (of === run) made.model.set("others", others as never);
  }
  return { root: sectionOf(made.el), refresh: () => void refresh().catch(reportError) };
}

/** The law: what the host answers, else the sliders alone. */
function law(context: Context): Section {
  const made = asked("law", "The fastest stack by the latency law")(context);
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

const REPORTS = "Reports on many prompts";

const SURVIVORS = "What survives each level";

/** Open for a run with several verifiers: of one alone there is little to see. */
function survivors(context: Context): Section {
  const ribbons = view("panels", { which: ["ribbons"] });
  const words = "The draft tokens of each source that a verifier accepts.";
  const { root, refresh, stale } = closed(SURVIVORS, words, ribbons)(context);
  let of = "";
  return {
    root,
    stale,
    refresh() {
      const { run, rounds } = context.group.store;
      const isNew = run !== of;
      of = run;
      if (isNew) (root as HTMLDetailsElement).open = [...rounds.values()].some(isBelow);
      refresh?.();
    },
  };
}
const isBelow = ({ parent }: Round) => parent !== null;

/** Saved reports, and a file of the visitor. */
function reports({ host, state }: Context): Section {
  const root = sectionOf(ledeOf("report"));
  const made = new AnswerView(host, { about: "report", words: "A benchmark report" }, state);
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

/** The same below its title; on a phone it is closed, and its title says the first result. */
function reportsBelow(context: Context): Section {
  if (matchMedia("(max-width: 700px)").matches) {
    return closed(REPORTS, fastestWords(context.host.about.suites ?? []), reports)(context);
  }
  const section = reports(context);
  section.root.classList.add("hsd-reports");
  section.root.prepend(make("h3", "", REPORTS));
  return section;
}

const RULE_LAB = {
  tokens: ["cat", "dog", "owl", "fox"],
  p: [0.5, 0.25, 0.15, 0.1],
  lookahead: 3,
  disagreement: 0.4,
  epsilon: 0.2,
  seed: 93,
};
/** The question of the tab of the visitor's server. */
const SERVER: Headline = {
  figure: "Would it speed up your server?",
  words:
    "A record of the server shows what limits it; a log of its texts, what drafters would bring.",
};
const tab = (title: string, ...parts: Tab["parts"]): Tab => ({ title, parts });
export const tabsOf = (host: Host): Tab[] => [
  tab("Watch", ["", asked("doctor", "What limits the speed-up")]),
  {
    title: "Why",
    says: acceptedOf,
    parts: [
      ["The round", view("scene")],
      ["Acceptance", view("panels", { which: ["byPosition", "perRound"] })],
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
          "One draft under four rules: three keep the model’s probabilities, one does not.",
          view("rule_lab", RULE_LAB),
        ),
      ],
    ],
  },
  {
    title: "Databases",
    says: copiesOf,
    parts: [
      ["Tokens by source", view("timeline", { show: "supply" })],
      ["Copied passages", view("locality_map")],
      ["Match length", view("panels", { which: ["byMatch", "inText"] })],
    ],
  },
  {
    title: "Time",
    says: timeOf,
    parts: [
      ["Timeline", view("timeline", { show: "time" })],
      ["Best stack of these models", law],
      [SURVIVORS, survivors],
      [
        "Other hardware",
        closed(
          "Other hardware",
          LEDES.predict,
          asked("predict", "A prediction for other hardware", false),
        ),
      ],
    ],
  },
  {
    title: "Compare",
    isApart: true,
    parts: [
      ["Runs of one prompt", compareView],
      [REPORTS, reportsBelow],
    ],
  },
  {
    title: "Your traffic",
    says: () => SERVER,
    isApart: true,
    parts: [
      ["What limits a server", record],
      ["What drafters would bring", traffic],
    ],
  },
  ...host.about.tabs.map((title) => tab(title, ["", asked(title, `The view '${title}'`)])),
];
/** A tab that was opened. */
export interface Built {
  /** Its content, below its headline. */
  el: HTMLElement;
  sections: Section[];
  /** Links to its parts; empty where it is one. */
  parts: HTMLElement;
}

/** Build a tab, with links to its parts; one that fails shows a card. */
export function built(tab: Tab, context: Context): Built {
  const { parts } = tab;
  const el = make("div", "hsd-panel-body");
  const sections: Section[] = [];
  try {
    for (const [, make] of parts) sections.push(make(context));
  } catch (error) {
    reportError(error);
    sections.push({ root: failure(error) });
  }
  const list = make("nav", "hsd-jumps", "", { "aria-label": "Parts of this tab" });
  const links = sections.map(({ root }, k) => linkTo(root, parts[k][0]));
  list.hidden = sections.length < 2;
  if (!list.hidden) render(links, list);
  const headline = tab.says ? saying(tab, context) : null;
  if (headline) el.append(headline.root);
  if (tab.title in LEDES) el.append(ledeOf(tab.title as keyof typeof LEDES));
  el.append(...sections.map(({ root }) => root));
  return { el, sections: headline ? [headline, ...sections] : sections, parts: list };
}
/** A link to a part of a tab, which becomes a group of this name. */
function linkTo(root: HTMLElement, name: string) {
  const go = (e: Event) => {
    // In a notebook, JupyterLab handles fragment links.
    e.preventDefault();
    if (root instanceof HTMLDetailsElement) root.open = true;
    root.focus({ preventScroll: true });
    root.scrollIntoView();
  };
  Object.assign(root, { id: unique(), tabIndex: -1, role: "group", ariaLabel: name });
  return html`<a href="#${root.id}" @click=${go}>${name}</a>`;
}
/** The headline of a tab, said again for every run. */
function saying({ says, isApart }: Tab, context: Context): Section {
  const root = make("p", "hsd-headline");
  return {
    root,
    refresh() {
      const headline = says?.(context.group.store);
      root.hidden = !headline;
      const origin = isApart ? [] : originOf(context, false);
      render(headlineOf(headline, origin), root);
    },
  };
}
