// The page's side of the worker: turns requests into promises, reports progress, and gives one
// reason when the worker cannot decode.
import { type DecodeRequest, lostError, type Progress } from "../host";
import { listeners } from "../lib/listeners";
import type { Append, Snapshot } from "../lib/run_data";

type Settings = Omit<DecodeRequest, "prompt" | "stack" | "seed">;
/**
 * A decode request. Defaults: greedy, without top-k and top-p, seed 0, the rule `token`, 128
 * tokens. A seed from 2^53 on is a text or a bigint.
 */
export type Request = Pick<DecodeRequest, "prompt" | "stack"> &
  Partial<Settings> & { seed?: number | string | bigint };
/** The files that a client loads, and its time limit. */
export interface Source {
  /** Script of the worker, and folder of the runtime: addresses relative to the page. */
  script: string;
  base: string;
  /** Whether the browser keeps the files. */
  keep?: boolean;
  /** Whether to load only on the first request or {@link Client.wake}. */
  waits?: boolean;
  /** Seconds without a message during a request, sleep excluded, after which a worker is lost. */
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
export type ToWorker =
  | { kind: "load"; base: string; keep: boolean }
  | { kind: "decode"; id: number; request: Request }
  /** Measure the forward passes of a model. */
  | { kind: "time"; id: number; model: string; widths: number[] }
  | { kind: "cancel"; id: number };
export type Answer =
  /** Bytes of all files so far. `ready`: names of the models and databases loaded so far. */
  | { kind: "loading"; done: number; total: number; file: string; ready: string[] }
  | { kind: "unusable"; message: string }
  | { kind: "stage"; id: number; text: string; done: number | null; total: number | null }
  | { kind: "begin"; id: number; run: Snapshot }
  | { kind: "append"; id: number; steps: Append }
  | { kind: "done"; id: number; run: Snapshot; result: Result; memory: number }
  | { kind: "timed"; id: number; milliseconds: Record<string, number> }
  /** `lost`: the worker can decode no more. */
  | { kind: "failed"; id: number; message: string; lost: boolean };

/** Callbacks for the progress of a request. */
export type Callbacks = Partial<Progress>;
/** A finished decode; `memory`: memory of the runtime in bytes. */
export type Finished = Pick<Extract<Answer, { kind: "done" }>, "run" | "result" | "memory">;
type Loading = Omit<Extract<Answer, { kind: "loading" }>, "kind">;
const NOTHING: Loading = { done: 0, total: 0, file: "", ready: [] };
/** Replies that end a request. */
type Ended = Extract<Answer, { kind: "done" | "timed" }>;
interface Pending {
  on: Callbacks;
  resolve(answer: Ended): void;
  reject(error: Error): void;
}
/** Default patience in seconds: a long forward pass of the ladder takes a few. */
const PATIENCE_S = 10;

export class Client {
  /** Listeners to the reason for which the worker cannot decode; "": a new worker starts. */
  readonly state = listeners<[why: string]>();
  readonly progress = listeners<[loading: Loading]>();
  loading = NOTHING;
  /** Reason for which the worker cannot decode; "": it can. */
  why = "";
  private worker: Worker | null = null;
  /** Id of the next request, unique across reloads of the page, which keep the last run. */
  private next = Date.now();
  private silent = 0;
  private watch = 0;
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly source: Source) {
    // A page opened from a folder reports at once that it cannot decode.
    if (!source.waits || location.protocol === "file:") this.start();
  }

  /** Start loading unless the worker has started or failed. */
  wake() {
    if (!this.worker && !this.why) this.start();
  }

  /** End the worker. Its requests fail as cancelled. */
  stop() {
    this.worker?.terminate();
    this.worker = null;
    window.clearInterval(this.watch);
    this.watch = 0;
    const over = new DOMException("The download was cancelled.", "AbortError");
    for (const pending of this.pending.values()) pending.reject(over);
    this.pending.clear();
  }

  /** Start a new worker, for example after one was lost. */
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

  /** Decode. If `signal` cancels after the first token, the promise resolves as well. */
  async decode(request: Request, on: Callbacks = {}, signal?: AbortSignal): Promise<Finished> {
    const ask = (id: number): ToWorker => ({ kind: "decode", id, request });
    const answer = await this.request(ask, on, signal);
    if (answer.kind !== "done") throw new Error("the worker gave the answer to another question");
    return answer;
  }

  /** Measure the forward passes of a model: milliseconds by width. */
  async time(
    model: string,
    widths: number[],
    on: Callbacks = {},
    signal?: AbortSignal,
  ): Promise<Record<string, number>> {
    const ask = (id: number): ToWorker => ({ kind: "time", id, model, widths });
    const answer = await this.request(ask, on, signal);
    if (answer.kind !== "timed") throw new Error("the worker gave the answer to another question");
    return answer.milliseconds;
  }

  private request(
    asked: (id: number) => ToWorker,
    on: Callbacks,
    signal?: AbortSignal,
  ): Promise<Ended> {
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

  private ask(asked: ToWorker) {
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
      return this.progress.notify(answer);
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
    this.state.notify(why);
  }
}
