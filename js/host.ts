// The interface between the page and its host: a kernel (host/kernel.ts), the recorded runs of a
// file (page/start.ts), or a worker with the WebAssembly runtime. `openPage(el, host)` of
// app/page.ts draws the page. A capability that a host lacks is undefined; the page then shows a
// card with the command that provides it.
import type { GameData } from "./game/index";
import type { Language } from "./game/strings";
import type { SettingName } from "./lib/options";
import type { PaletteData } from "./lib/palette";
import type { Append, Head, Snapshot } from "./lib/run_data";
import type { Sources } from "./lib/stack";
import type { Suite } from "./lib/suites";

/** A recording that the host can load. */
export interface Recording {
  /** Name for {@link Host.recording}; GROUP/NAME for a recording of a comparison. */
  name: string;
  title: string;
  blurb: string;
}
/** A target model with its draft models and databases. */
export interface Family {
  name: string;
  title: string;
  /** Model names that stacks may use; the target is last. */
  models: string[];
  /** An example prompt, the prompts of the form's menu, and whether the target is a chat model. */
  prompt: string;
  prompts: ExamplePrompt[];
  chat: boolean;
  /** The initial stack of the form. */
  stack?: string;
  installed: boolean;
}
/** A prompt in the form's menu. */
export interface ExamplePrompt {
  name: string;
  title: string;
  blurb: string;
  prompt: string;
}
/** Recordings of one prompt with several stacks, for a comparison. */
export interface Race {
  group: string;
  title: string;
  prompt: string;
  runs: { name: string; stack: string; blurb: string }[];
}

/** What the form of a decode offers and checks. */
export interface FormChoices {
  prompts: ExamplePrompt[];
  /** Stacks in the form's menu. */
  stacks: string[];
  rules: string[];
  /** Model names allowed in stacks; null: any. */
  models: string[] | null;
  /** Draft sources that can begin a stack, with their items. */
  sources: Sources;
  /** Selectable devices and number types; empty: the host has only one. */
  devices: string[];
  dtypes: string[];
  /** Selectable families, and the initial one; absent: the host has only one. */
  families?: Family[];
  family?: string;
  limits: { prompt: number; tokens: number };
  /** The initial values of the form. */
  form: DecodeRequest;
}
/** What was recorded or measured before. */
export interface RecordedRuns {
  recordings: Recording[];
  races: Race[];
  /** Speed-ups over the prompts of suites, from saved reports. */
  suites?: Suite[];
}
/** What the game plays. */
export interface GameContent {
  /** Texts of the game, with their recordings by player. */
  games: GameData[];
  /** Choices of texts for one game, by their names. */
  plays: string[][];
  /** Translations of the game, by language tag. */
  languages: Record<string, Language>;
}
/**
 * What the page shows and checks without a request to its host. JSON written by
 * hsd_viz.views.page_data.about().
 */
export interface About extends FormChoices, RecordedRuns, GameContent {
  palette: PaletteData;
  /** Stacks of the comparison's buttons, by name. */
  sides: Record<string, string>;
  /** Titles of tabs that other packages add. */
  tabs: string[];
  /** Address of the first lesson; none where lessons are notebooks. */
  lessons?: string;
}

/** The body of `POST /decode` of `hsd-viz serve`, with further options of hosts. */
export interface DecodeRequest extends Record<SettingName, number> {
  prompt: string;
  stack: string;
  rule: string;
  chat?: boolean;
  /** Whether to decode without drafts, too, and measure the speed-up. */
  beside_plain?: boolean;
  device?: string;
  dtype?: string;
  target?: string;
  /** Family that the short model names of the stack belong to. */
  family?: string;
  /** The run that this one continues, recorded in the trace. */
  parent?: { run: string; token: number; text: string } | null;
  /** Folder of the databases; "": the shipped ones. */
  databases?: string;
}
/**
 * Callbacks during a request. For a decode, `begin` gets a run without steps, and `append` gets the
 * columns of new steps.
 */
export interface Progress {
  stage(text: string, done?: number | null, total?: number | null): void;
  begin(run: Snapshot): void;
  append(steps: Append): void;
}
/** A file that the page gives to its host or gets from it. */
export interface FileContent {
  name: string;
  type: string;
  bytes: ArrayBuffer;
}

/** A plotly figure. */
interface PlotlyFigure {
  data: unknown[];
  layout: Record<string, unknown>;
}
/** A part of an answer: a paragraph, a figure, a page, a view with its traits, or a widget. */
export type Part =
  | { kind: "text"; text: string; caution?: boolean }
  /** `dark` is the figure of a dark page (empty: the same). `folded`: closed below its title. */
  | {
      kind: "figure";
      figure: { drawn: PlotlyFigure; dark: Partial<PlotlyFigure> };
      folded?: boolean;
    }
  /** A page of HTML without scripts. */
  | { kind: "page"; title: string; html: string; folded?: boolean }
  | { kind: "view"; view: string; state: Record<string, unknown> }
  /** A widget of another package; `model` is the id of its model in the kernel. */
  | { kind: "widget"; model: string };
export interface Answer {
  /** Options of the question, shown as menus above its answer. */
  choices?: {
    name: string;
    label: string;
    options: [words: string, value: string][];
    value: string;
  }[];
  parts: Part[];
  /** Files that can be saved: [name, label of the button, content]. */
  files?: [name: string, words: string, content: string][];
}

/** A question about a run, a report, a log or another machine. */
export interface Question {
  about: string;
  /** The run that the question is about. */
  run?: Snapshot;
  options?: Record<string, unknown>;
  files?: FileContent[];
}

/**
 * Name of the error of a request whose host was lost; the page reports that in one banner. Errors
 * are recognized by name because each bundle has its own classes.
 */
const LOST = "HostLost";
export const lostError = (why: string) => Object.assign(new Error(why), { name: LOST });
export const isLost = (error: unknown) => error instanceof Error && error.name === LOST;

export interface Host {
  readonly about: About;
  /** Load a recording. */
  recording(name: string): Promise<Snapshot>;
  /** Read a trace file. Rejects with a one-line message if it is invalid. */
  open?(file: FileContent): Promise<Snapshot>;
  /** Write a file: "trace" or "page" of a run, "comparison" of several. */
  file?(question: Question): Promise<FileContent>;
  /**
   * Decode; resolves with the final head of the run. If `signal` cancels after the first token, it
   * resolves as well.
   */
  decode?(request: DecodeRequest, on: Progress, signal: AbortSignal): Promise<Head>;
  /**
   * Topics that {@link ask} can answer: "doctor" and "law" (about a run), "report" (options.name or
   * a file), "replay" (files: a log, optionally a tokenizer), "record" (a file), "predict", and the
   * tabs of other packages.
   */
  readonly answers: readonly string[];
  ask?(question: Question, on: Pick<Progress, "stage">, signal: AbortSignal): Promise<Answer>;
  /** Return the element below a family selected in the form; null: none. */
  panel?(family: string): HTMLElement | null;
  /** Return the text of plotly's module, compressed with gzip. */
  plotly?(): Promise<BlobPart>;
  /** Draw a widget of another package into an element. A linked widget joins the page's group. */
  widget?(model: string, el: HTMLElement, group: string): Promise<() => void>;
  /** Call `heard` with a reason when the host is lost, and with "" when it is back. */
  watch?(heard: (why: string) => void): () => void;
}
