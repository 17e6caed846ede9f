// The messages between a page and its worker.
import type { DecodeRequest } from "../host";
import type { Append, Snapshot } from "../lib/run";

type Settings = Omit<DecodeRequest, "prompt" | "stack" | "seed">;
/** What is decoded; left out: greedy, no cut, seed 0, the rule `token`, 128 tokens. A seed of more than 53 bits is text. */
export type Request = Pick<DecodeRequest, "prompt" | "stack"> & Partial<Settings> & { seed?: number | string | bigint };
/** The object that `hsd-viz decode --json` prints. */
export interface Result {
  text: string;
  token_ids: number[];
  stop_reason: "eos" | "length" | "context" | "cancelled";
  stack: string;
  stack_resolved: string;
  target: string;
  metrics: Record<string, unknown> & { tokens_per_second: number | null };
  calls_by_level: unknown[];
}
export type Ask =
  | { kind: "load"; base: string }
  | { kind: "decode"; id: number; request: Request }
  /** Measure forward passes of a model: milliseconds by width. */
  | { kind: "time"; id: number; model: string; widths: number[] }
  | { kind: "cancel"; id: number };
export type Answer =
  /** Bytes of all files so far. `ready`: what can be decoded by now. */
  | { kind: "loading"; done: number; total: number; file: string; ready: string[] }
  | { kind: "unusable"; message: string }
  | { kind: "stage"; id: number; text: string; done: number | null; total: number | null }
  | { kind: "begin"; id: number; run: Snapshot }
  | { kind: "append"; id: number; steps: Append }
  | { kind: "done"; id: number; run: Snapshot; result: Result; memory: number }
  | { kind: "timed"; id: number; milliseconds: Record<string, number> }
  | { kind: "failed"; id: number; message: string; memory: boolean };
