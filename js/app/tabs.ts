// The tabs of the page: views of the run, answers of the host, and forms. The content of a tab is
// built when it is first opened.
import { html, render } from "lit-html";
import type { Host } from "../host";
import { make } from "../lib/dom";
import { foldOf } from "../lib/fold";
import { failure } from "../lib/notice";
import type { Store as Run } from "../lib/run";
import type { Round } from "../lib/tables";
import { unique } from "../lib/widget";
import { mount } from "../views";
import { AnswerView } from "./answer";
import { compareView } from "./compare";
import { choose, read } from "./files";
import { acceptedOf, copiesOf, type Headline, headlineOf, timeOf } from "./headline";
import LEDES from "./ledes.json";
import { fastestText, originOf } from "./origin";
import type { Context, Section } from "./section";
import { timeFigure } from "./timefigure";
import { record, traffic } from "./traffic";

type SectionBuilder = (context: Context) => Section;
export interface Tab {
  title: string;
  /** Parts of the tab, each with its name in the list of links. */
  parts: [name: string, make: SectionBuilder][];
  /** Return the tab's headline for a run, about a figure other than its speed; null: none. */
  headline?: (run: Run) => Headline | null;
  /** Whether the tab is unrelated to the run, which it then hides. */
  isApart?: boolean;
}

/** Return a section of the page around its content. */
function sectionOf(...content: Node[]) {
  const root = make("section", "hsd-part");
  root.append(...content);
  return root;
}
const ledeOf = (name: keyof typeof LEDES) => make("p", "hsd-lede", LEDES[name]);
/** A section with a view of the run. */
const runView =
  (name: string, extra: Record<string, unknown> = {}): SectionBuilder =>
  ({ state }) => {
    const { el, close } = mount(name, { ...state, ...extra });
    return { root: sectionOf(el), close };
  };

function answerView(about: string, words: string, ofRun = true): SectionBuilder {
  return ({ host, state, run }) => {
    const topic = { about, words, run: ofRun ? run : undefined };
    const answers = new AnswerView(host, topic, { ...state, suites: host.about.suites });
    return {
      root: sectionOf(answers.root),
      refresh: answers.refresh,
      stale: (on) => answers.stale(on),
      close: () => answers.close(),
    };
  };
}

/** A section below its title, built when it is first opened. */
const closedSection =
  (title: string, words: string, made: SectionBuilder): SectionBuilder =>
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
      close: () => inner?.close?.(),
    };
  };

const REPORTS = "Reports on many prompts";

const SURVIVORS = "What survives each level";

/** The ribbons, unfolded for a run with several verifiers; with one verifier they show little. */
function survivors(context: Context): Section {
  const ribbons = runView("panels", { which: ["ribbons"] });
  const words = "What a verifier accepts of each source.";
  const section = closedSection(SURVIVORS, words, ribbons)(context);
  let shownRun = "";
  return {
    ...section,
    refresh() {
      const { run, rounds } = context.group.store;
      const isNew = run !== shownRun;
      shownRun = run;
      const folder = section.root as HTMLDetailsElement;
      if (isNew) folder.open = [...rounds.values()].some(isBelow);
      section.refresh?.();
    },
  };
}
const isBelow = ({ parent }: Round) => parent !== null;

/** Saved reports, and those of a file of the visitor. */
function reports({ host, state }: Context): Section {
  const root = sectionOf(ledeOf("report"));
  const answers = new AnswerView(host, { about: "report", words: "A benchmark report" }, state);
  if (host.ask && host.answers.includes("report")) {
    const open = make("button", "hsd-quiet", "Open a report", { type: "button" });
    const take = (file: File) =>
      void read(file).then((upload) => answers.ask([upload]), answers.fail);
    open.addEventListener("click", () => choose(".json,application/json", take));
    root.append(open);
  }
  root.append(answers.root);
  return { root, refresh: answers.refresh, close: () => answers.close() };
}

/** Saved reports, folded below their first result. */
const reportsBelow: SectionBuilder = (context) =>
  closedSection(REPORTS, fastestText(context.host.about.suites ?? []), reports)(context);

const RULE_LAB = {
  tokens: ["cat", "dog", "owl", "fox"],
  p: [0.5, 0.25, 0.15, 0.1],
  lookahead: 3,
  disagreement: 0.4,
  epsilon: 0.1,
  seed: 93,
};
/** The headline of the tab about the visitor's server. */
const SERVER: Headline = {
  figure: "Would it speed up your server?",
  words:
    "A record of the server shows what limits it; a log of its texts, what drafters would bring.",
};
const tab = (title: string, ...parts: Tab["parts"]): Tab => ({ title, parts });
export const tabsOf = (host: Host): Tab[] => [
  tab("Watch", ["", answerView("doctor", "What limits the speed-up")]),
  {
    title: "Why",
    headline: acceptedOf,
    parts: [
      ["The round", runView("scene")],
      [
        "Acceptance",
        closedSection(
          "Acceptance",
          "By draft position, and accepted tokens per round.",
          runView("panels", { which: ["byPosition", "perRound"] }),
        ),
      ],
      [
        "Verification rules",
        closedSection(
          "Verification rules",
          "One draft under four rules, three results: block and branch agree, one is not lossless.",
          runView("rule_lab", RULE_LAB),
        ),
      ],
    ],
  },
  {
    title: "Databases",
    headline: copiesOf,
    parts: [
      ["Copied passages", runView("locality_map")],
      ["Tokens by source", runView("timeline", { show: "supply" })],
      [
        "Match length",
        closedSection(
          "Are longer matches accepted?",
          "By the number of tokens that matched.",
          runView("panels", { which: ["byMatch", "inText"] }),
        ),
      ],
    ],
  },
  {
    title: "Time",
    headline: timeOf,
    parts: [
      ["Where the time goes", timeFigure],
      ["Timeline", runView("timeline", { show: "time" })],
      [
        "Fastest stack",
        closedSection(
          "Which stack is fastest?",
          "What the latency law predicts, beside runs.",
          answerView("law", "The fastest stack by the latency law"),
        ),
      ],
      [SURVIVORS, survivors],
      [
        "Other hardware",
        closedSection(
          "Other hardware",
          LEDES.predict,
          answerView("predict", "A prediction for other hardware", false),
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
    headline: () => SERVER,
    isApart: true,
    parts: [
      ["What limits a server", record],
      ["What drafters would bring", traffic],
    ],
  },
  ...host.about.tabs.map((title) => tab(title, ["", answerView(title, `The view '${title}'`)])),
];
/** A tab that was opened. */
export interface OpenTab {
  /** The content, below the headline. */
  el: HTMLElement;
  sections: Section[];
  /** Links to the parts; empty for a single part. */
  parts: HTMLElement;
}

/** Build a tab with links to its parts. A part that fails shows a card. */
export function buildTab(tab: Tab, context: Context): OpenTab {
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
  const headline = tab.headline ? headlineSection(tab, context) : null;
  if (headline) el.append(headline.root);
  if (tab.title in LEDES) el.append(ledeOf(tab.title as keyof typeof LEDES));
  el.append(...sections.map(({ root }) => root));
  return { el, sections: headline ? [headline, ...sections] : sections, parts: list };
}
/** Return a link to a part of a tab, and make the part a group of this name. */
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
/** The headline of a tab, drawn for every run. */
function headlineSection({ headline: read, isApart }: Tab, context: Context): Section {
  const root = make("p", "hsd-headline");
  return {
    root,
    refresh() {
      const headline = read?.(context.group.store);
      root.hidden = !headline;
      const origin = isApart ? [] : originOf(context, false);
      render(headlineOf(headline, origin), root);
    },
  };
}
