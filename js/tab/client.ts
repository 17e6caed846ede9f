// The worker seen from a page: requests as promises, progress, and one reason when it cannot decode
// (any more).
import { type DecodeRequest, lostError, type Progress } from "../host";
import { listeners } from "../lib/listeners";
import type { Append, Snapshot } from "../lib/run_data";

type Settings = Omit<DecodeRequest, "prompt" | "stack" | "seed">;
/**
 * What is decoded; left out: greedy, no cut, seed 0, the rule `token`, 128 tokens. A seed from 2^53
 * on is text or a bigint.
 */
export type Request = Pick<DecodeRequest, "prompt" | "stack"> &
  Partial<Settings> & { seed?: number | string | bigint };
/** What a client loads, and how patient it is. */
export interface Source {
  /** The worker's script, and the folder of the runtime: addresses relative to the page. */
  script: string;
  base: string;
  /** Whether the browser keeps the files. */
  keep?: boolean;
  /** Whether it loads only when something is asked of it, or by {@link Client.wake}. */
  waits?: boolean;
  /** Seconds awake without a message, while something is asked, after which a worker is lost. */
  patience?: number;
}
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
  | { kind: "load"; base: string; keep: boolean }
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
  /** `lost`: the worker decodes nothing more. */
  | { kind: "failed"; id: number; message: string; lost: boolean };

/** What is done with answers on the way. */
export type On = Partial<Progress>;
/** A decode; `memory`: bytes of the runtime's. */
export type Finished = Pick<Extract<Answer, { kind: "done" }>, "run" | "result" | "memory">;
type Loading = Omit<Extract<Answer, { kind: "loading" }>, "kind">;
const NOTHING: Loading = { done: 0, total: 0, file: "", ready: [] };
/** The answers that end a request. */
type Ended = Extract<Answer, { kind: "done" | "timed" }>;
interface Pending {
  on: On;
  resolve(answer: Ended): void;
  reject(error: Error): void;
}
/** A long forward pass of the ladder takes a few seconds. */
const PATIENCE_S = 10;

export class Client {
  /** Called with a reason when the worker cannot decode, and with "" when a new one starts. */
  readonly state = listeners<[why: string]>();
  readonly progress = listeners<[loading: Loading]>();
  loading = NOTHING;
  /** Why nothing can be decoded; "": it can. */
  why = "";
  private worker: Worker | null = null;
  /** Also unique after a reload, which keeps the last run. */
  private next = Date.now();
  private silent = 0;
  private watch = 0;
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly source: Source) {
    // A page of a folder says at once that it cannot decode.
    if (!source.waits || location.protocol === "file:") this.start();
  }

  /** Start to load, if nothing is loaded or loading yet. */
  wake() {
    if (!this.worker && !this.why) this.start();
  }

  /** End the worker. What is asked of it fails as cancelled. */
  stop() {
    this.worker?.terminate();
    this.worker = null;
    window.clearInterval(this.watch);
    this.watch = 0;
    const over = new DOMException("The download was cancelled.", "AbortError");
    for (const pending of this.pending.values()) pending.reject(over);
    this.pending.clear();
  }

  /** Start a new worker, after one was lost. */
  start() {
    this.worker?.terminate();
    this.set("");
    this.loading = NOTHING;
    if (location.protocol === "file:") {
      this.lost(
        "Browsers let no page that was opened as a file start a worker: " +
          "open the site by any web server.",
      );
      return;
    }
    this.worker = new Worker(new URL(this.source.script, document.baseURI));
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.receive(data);
    this.worker.onerror = () =>
      this.lost("The worker that decodes was lost. Start it again, or reload the page.");
    const { base, keep = false } = this.source;
    this.ask({ kind: "load", base: new URL(base, document.baseURI).href, keep });
  }

  /** Decode; resolves also when `signal` cancelled it after the first token. */
  async decode(request: Request, on: On = {}, signal?: AbortSignal): Promise<Finished> {
    const ask = (id: number): Ask => ({ kind: "decode", id, request });
    const answer = await this.request(ask, on, signal);
    if (answer.kind !== "done") throw new Error("the worker gave the answer to another question");
    return answer;
  }

  /** Milliseconds of a model's forward passes by width. */
  async time(
    model: string,
    widths: number[],
    on: On = {},
    signal?: AbortSignal,
  ): Promise<Record<string, number>> {
    const ask = (id: number): Ask => ({ kind: "time", id, model, widths });
    const answer = await this.request(ask, on, signal);
    if (answer.kind !== "timed") throw new Error("the worker gave the answer to another question");
    return answer.milliseconds;
  }

  private request(asked: (id: number) => Ask, on: On, signal?: AbortSignal): Promise<Ended> {
    this.wake();
    if (this.why) return Promise.reject(lostError(this.why));
    if (signal?.aborted)
      return Promise.reject(new DOMException("The decode was cancelled.", "AbortError"));
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { on, resolve, reject });
      signal?.addEventListener("abort", () => this.ask({ kind: "cancel", id }));
      this.silent = 0;
      this.watch ||= window.setInterval(() => this.look(), 1000);
      this.ask(asked(id));
    });
  }

  private ask(asked: Ask) {
    this.worker?.postMessage(asked);
  }

  private look() {
    const { done, total } = this.loading;
    if (!this.pending.size) {
      window.clearInterval(this.watch);
      this.watch = 0;
    } else if (++this.silent > (this.source.patience ?? PATIENCE_S) && total && done >= total) {
      this.lost("The worker that decodes does not answer. Start it again, or reload the page.");
    }
  }

  private receive(answer: Answer) {
    this.silent = 0;
    if (answer.kind === "loading") {
      this.loading = answer;
      return this.progress.tell(answer);
    }
    if (answer.kind === "unusable") return this.lost(answer.message);
    const pending = this.pending.get(answer.id);
    if (!pending) return;
    if (answer.kind === "stage") pending.on.stage?.(answer.text, answer.done, answer.total);
    else if (answer.kind === "begin") pending.on.begin?.(answer.run);
    else if (answer.kind === "append") pending.on.append?.(answer.steps);
    else {
      this.pending.delete(answer.id);
      if (answer.kind !== "failed") return pending.resolve(answer);
      pending.reject(new Error(answer.message));
      if (answer.lost) this.lost(answer.message);
    }
  }

  private lost(why: string) {
    this.worker?.terminate();
    this.worker = null;
    this.set(why);
    for (const pending of this.pending.values()) pending.reject(lostError(why));
    this.pending.clear();
  }
  private set(why: string) {
    this.why = why;
    this.state.tell(why);
  }
}
