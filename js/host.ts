// What the page needs from what runs it: a kernel (host/kernel.ts), recorded runs in a file (host/recording.ts), or a worker with the
// WebAssembly runtime. `openPage(el, host)` of app/page.ts draws the page. A capability that a host lacks is undefined; the page then
// shows a card with the command that offers it.

import type { PaletteData } from "./lib/palette";
import type { Append, Snapshot } from "./lib/run";

/** A recording that the host has. */
export interface Recording {
  name: string;
  title: string;
  blurb: string;
}
/** A prompt of the form's menu. */
export interface Preset {
  title: string;
  blurb: string;
  prompt: string;
}
/** What the page shows and checks before anything is asked; JSON, written by hsd_viz.views.app.about(). */
export interface About {
  palette: PaletteData;
  recordings: Recording[];
  prompts: Preset[];
  /** Stacks of the form's menu: [stack, description]. */
  stacks: [stack: string, words: string][];
  rules: string[];
  /** Models allowed in stacks; null: any. */
  models: string[] | null;
  /** Names of databases and baselines that can stand first in a stack. */
  sources: Record<string, string>;
  /** Devices and number types that can be chosen; empty: the host has one. */
  devices: string[];
  dtypes: string[];
  limits: { prompt: number; tokens: number };
  /** The temperature of the recordings. */
  temperature: number;
  version: string;
}

/** The body of `POST /decode` of `hsd-viz serve`, and options of the host. */
export interface DecodeRequest {
  prompt: string;
  stack: string;
  max_new_tokens: number;
  temperature: number;
  top_k: number;
  top_p: number;
  seed: number;
  rule: string;
  chat?: boolean;
  /** Also run plain decoding, to measure the speed-up. */
  beside_plain?: boolean;
  device?: string;
  dtype?: string;
  target?: string;
  /** Where drafts come from besides this text: "" the shipped databases, "own" those of this machine. */
  databases?: string;
}
/** Called while a decode is in progress; a `begin` has the columns of no steps yet, `append` those of new ones. */
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

/** A figure of plotly for a light page, and how a dark one differs. */
export interface Figure {
  drawn: { data: unknown[]; layout: Record<string, unknown> };
  dark: [path: (string | number)[], value: unknown][];
}
/** A part of an answer: a paragraph, a warning, tables, a figure, or the data of a view of this bundle. */
export type Part =
  | { kind: "text"; text: string; caution?: boolean }
  | { kind: "heading"; text: string }
  | { kind: "figure"; figure: Figure }
  | { kind: "view"; view: string; state: Record<string, unknown> };
/** An option of a question: a menu above its answer. */
export interface Choice {
  name: string;
  label: string;
  options: [words: string, value: string][];
  value: string;
}
export interface Answer {
  choices?: Choice[];
  parts: Part[];
}

/** A question about a run, a report, a log or a machine that is not at hand. `run` is Snapshot.run. */
export interface Question {
  /** "databases" | "law" | "doctor" | "report" | "replay" | "predict" | a tab of another package */
  about: string;
  run?: string;
  options?: Record<string, unknown>;
  files?: File[];
}

export interface Host {
  readonly about: About;
  /** Return a recording's run. */
  recording(name: string): Promise<Snapshot>;
  /** Read a trace file. Rejects with one sentence if it is not one. */
  open?(file: File): Promise<Snapshot>;
  /** Return a run as a file: "trace" | "html" | "csv" | "perfetto". */
  save?(form: string, runs: Snapshot[]): Promise<File>;
  /** Decode; resolves with the final head of the run, also when `signal` cancelled it after the first token. */
  decode?(request: DecodeRequest, on: Progress, signal: AbortSignal): Promise<Snapshot>;
  /** Let the target verify the visitor's draft after `prompt` (text): resolves with the tokens it accepts and the one it adds. */
  verify?(
    request: DecodeRequest,
    draft: string,
  ): Promise<{ accepted: string[]; added: string; rejected: string | null }>;
  /** Topics that {@link ask} can answer. */
  readonly answers: readonly string[];
  ask?(question: Question, on: Pick<Progress, "stage">, signal: AbortSignal): Promise<Answer>;
  /** Call `heard` with a reason when the host is lost, and with "" when it is back. */
  watch?(heard: (why: string) => void): () => void;
}
