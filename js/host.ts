// What the page needs from what runs it: a kernel (host/kernel.ts), recorded runs in a file
// (page/start.ts), or a worker with the WebAssembly runtime. `openPage(el, host)` of app/page.ts
// draws the page. A capability that a host lacks is undefined; the page then shows a card with the
// command that offers it.
import type { Language } from "./game/says";
import type { SettingName } from "./lib/options";
import type { PaletteData } from "./lib/palette";
import type { Append, Head, Snapshot } from "./lib/run_data";
import type { Sources } from "./lib/stack";

/** A recording that the host has. */
export interface Recording {
  /** Of one to compare: GROUP/NAME. */
  name: string;
  title: string;
  blurb: string;
}
/** A target with its draft models and databases, under one name. */
export interface Family {
  name: string;
  title: string;
  /** The names that stacks may use; the target is the last. */
  models: string[];
  /**
   * An example of a prompt, those of the form's menu, and whether the target answers conversations.
   */
  prompt: string;
  prompts: About["prompts"];
  chat: boolean;
  /** The stack that the form has at first. */
  stack?: string;
  installed: boolean;
}
/** A speed-up over the prompts of a suite, from a saved report. */
export interface Suite {
  family: string;
  /** What the suite is called, and the file of the report. */
  name: string;
  file: string;
  stack: string;
  temperature: number;
  dtype: string;
  prompts: number;
  value: number;
  /** The 95 % interval. */
  low: number;
  high: number;
}
/**
 * What the page shows and checks before anything is asked; JSON, written by
 * hsd_viz.views.page_data.about().
 */
export interface About {
  palette: PaletteData;
  recordings: Recording[];
  /** Prompts of the form's menu. */
  prompts: { title: string; blurb: string; prompt: string }[];
  /** Stacks of the form's menu: [stack, description]. */
  stacks: [stack: string, words: string][];
  rules: string[];
  /** Models allowed in stacks; null: any. */
  models: string[] | null;
  /** What can be first in a stack, with its items. */
  sources: Sources;
  /** Devices and number types that can be chosen; empty: the host has one. */
  devices: string[];
  dtypes: string[];
  limits: { prompt: number; tokens: number };
  /** The form's values at first: a decode request. */
  form: DecodeRequest;
  /**
   * Recordings of one prompt with several stacks, to compare; their names are those of {@link
   * Host.recording}.
   */
  races: {
    group: string;
    title: string;
    prompt: string;
    runs: (Recording & { stack: string })[];
  }[];
  /** Speed-ups over the prompts of suites, from saved reports; none where the host has none. */
  suites?: Suite[];
  /** Texts of the game, with their recordings by the player, and which of them make one game. */
  games: {
    name: string;
    title: string;
    asked: string;
    given: string;
    lesson: string;
    runs: Record<string, string>;
  }[];
  plays: string[][];
  /** What the game says in other languages, by their tags. */
  languages: Record<string, Language>;
  /** Stacks to compare by name. */
  sides: Record<string, string>;
  /** Tabs of other packages. */
  tabs: string[];
  /**
   * Families that the host decodes with, and the one of the form at first; none: the host has one.
   */
  families?: Family[];
  family?: string;
}

/** The body of `POST /decode` of `hsd-viz serve`, and options of the host. */
export interface DecodeRequest extends Record<SettingName, number> {
  prompt: string;
  stack: string;
  rule: string;
  chat?: boolean;
  /** Also run plain decoding, to measure the speed-up. */
  beside_plain?: boolean;
  device?: string;
  dtype?: string;
  target?: string;
  /** The family whose models have short names. */
  family?: string;
  /** The run that is continued, for its trace. */
  parent?: { run: string; token: number; text: string } | null;
  /** Folder of databases; "": the shipped ones. */
  databases?: string;
}
/**
 * Called while a decode is in progress; a `begin` has the columns of no steps yet, `append` those
 * of new ones.
 */
export interface Progress {
  stage(text: string, done?: number | null, total?: number | null): void;
  begin(run: Snapshot): void;
  append(steps: Append): void;
}
export interface File {
  name: string;
  type: string;
  bytes: ArrayBuffer;
}

/** A figure of plotly. */
interface Plotted {
  data: unknown[];
  layout: Record<string, unknown>;
}
/** A part of an answer: a paragraph, a figure, a page, or a view of this bundle with its state. */
export type Part =
  | { kind: "text"; text: string; caution?: boolean }
  /** For a light page, and for a dark one (empty: the same). `folded`: closed, below its title. */
  | { kind: "figure"; figure: { drawn: Plotted; dark: Partial<Plotted> }; folded?: boolean }
  /** A whole page of HTML without scripts. */
  | { kind: "page"; title: string; html: string; folded?: boolean }
  | { kind: "view"; view: string; state: Record<string, unknown> }
  /** A widget of another package, by the id of its model in the kernel. */
  | { kind: "widget"; model: string };
export interface Answer {
  /** Options of the question: menus above its answer. */
  choices?: {
    name: string;
    label: string;
    options: [words: string, value: string][];
    value: string;
  }[];
  parts: Part[];
  /** Files to save: [name, words of the button, content]. */
  files?: [name: string, words: string, content: string][];
}

/** A question about a run, a report, a log or a machine that is not at hand. */
export interface Question {
  about: string;
  /** The run it is about. */
  run?: Snapshot;
  options?: Record<string, unknown>;
  files?: File[];
}

/**
 * The error of a request whose host was lost: the page says so once, above everything. By name,
 * because bundles share no class.
 */
const LOST = "HostLost";
export const lostError = (why: string) => Object.assign(new Error(why), { name: LOST });
export const isLost = (error: unknown) => error instanceof Error && error.name === LOST;

export interface Host {
  readonly about: About;
  /** Return a recording's run. */
  recording(name: string): Promise<Snapshot>;
  /** Read a trace file. Rejects with a one-line message if it is not one. */
  open?(file: File): Promise<Snapshot>;
  /** Make a file: of a run "trace" or "page", of several "comparison". */
  file?(question: Question): Promise<File>;
  /**
   * Decode; resolves with the final head of the run, also when `signal` cancelled it after the
   * first token.
   */
  decode?(request: DecodeRequest, on: Progress, signal: AbortSignal): Promise<Head>;
  /**
   * Topics that {@link ask} can answer: "doctor" "law" (of a run), "report" (options.name, or a
   * file), "replay" (files: a log and perhaps a tokenizer), "record" (a file), "predict", and the
   * tabs of other packages.
   */
  readonly answers: readonly string[];
  ask?(question: Question, on: Pick<Progress, "stage">, signal: AbortSignal): Promise<Answer>;
  /** What is shown below a family that is chosen in the form; null: nothing. */
  panel?(family: string): HTMLElement | null;
  /** Return plotly's module, packed by gzip. */
  plotly?(): Promise<BlobPart>;
  /** Draw a widget of another package into an element; a linked one joins the page's group. */
  widget?(model: string, el: HTMLElement, group: string): Promise<() => void>;
  /** Call `heard` with a reason when the host is lost, and with "" when it is back. */
  watch?(heard: (why: string) => void): () => void;
}
