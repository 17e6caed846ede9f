// Serves the requests of a page in a worker: load a family, decode, measure, cancel.
import type { Answer, ToWorker } from "./client";
import { Decode } from "./decode";
import { Loading } from "./loading";
import { ModuleEnded, OutOfMemory } from "./memory";
import { neededBy, planOf } from "./plan";
import { RunRecord } from "./record";
import { factsOf, resultOf } from "./result";

/** Milliseconds of decoding between two messages. */
const SLICE_MS = 40;
/** Number of measurements. The minimum is reported, since other load only adds time. */
const ROUNDS = 12;
/** Yield to the event loop, so that messages are handled. */
const pause = () => new Promise<void>((done) => setTimeout(done));
/** Wait for a promise; reject as soon as `signal` cancels. */
function unlessCancelled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const cancelled = new Promise<never>((_, reject) => {
    const cancel = () => reject(new DOMException("The request was cancelled.", "AbortError"));
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
  });
  return Promise.race([cancelled, promise]);
}

type Job = Extract<ToWorker, { kind: "decode" | "time" }>;
type DecodeJob = Extract<ToWorker, { kind: "decode" }>;
type TimeJob = Extract<ToWorker, { kind: "time" }>;

/** Loads one family, and runs one job at a time in the order of the requests. */
export class TabDecoder {
  /** Controllers that cancel jobs, by id, from the request to the end of the job. */
  private readonly controls = new Map<number, AbortController>();
  /** Settles when all jobs so far have ended. */
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly say: (answer: Answer) => void,
    private readonly loading = new Loading(say),
  ) {}

  receive(ask: ToWorker) {
    switch (ask.kind) {
      case "load":
        this.loading
          .run(ask.base, ask.keep)
          .catch((error: Error) => this.say({ kind: "unusable", message: error.message }));
        break;
      case "cancel":
        this.controls.get(ask.id)?.abort();
        break;
      default:
        this.queue(ask);
    }
  }

  /** Run a job after all earlier ones. */
  private queue(job: Job) {
    const control = new AbortController();
    this.controls.set(job.id, control);
    this.last = this.last.then(async () => {
      try {
        if (job.kind === "decode") await this.decode(job, control.signal);
        else await this.time(job, control.signal);
      } catch (error) {
        const lost = error instanceof OutOfMemory || error instanceof ModuleEnded;
        this.say({ kind: "failed", id: job.id, message: (error as Error).message, lost });
      } finally {
        this.controls.delete(job.id);
      }
    });
  }

  private async decode({ id, request }: DecodeJob, signal: AbortSignal) {
    const loaded = await unlessCancelled(this.loading.loaded, signal);
    const { manifest, runtime, tokenizer } = loaded;
    const plan = planOf(loaded, request);
    await this.waitFor(id, neededBy(plan.stack, manifest), signal);
    const decode = new Decode(runtime, plan);
    try {
      await this.prefill(id, decode, signal);
      const facts = factsOf(`tab-${id}`, request, plan, manifest, decode.ended);
      const record = new RunRecord(facts, tokenizer, manifest);
      this.say({ kind: "begin", id, run: record.begun() });
      const wall_ns = await this.decodeRounds(id, decode, record, signal);
      const run = record.whole(wall_ns);
      const result = resultOf(plan, decode, run, loaded);
      this.say({ kind: "done", id, run, result, memory: runtime.module.bytes });
    } finally {
      decode.close();
    }
  }

  /** Feed the prompt, and yield to messages between its chunks. */
  private async prefill(id: number, decode: Decode, signal: AbortSignal) {
    for (const [name, done, total] of decode.prefill()) {
      this.say({ kind: "stage", id, text: `prefill ${name}`, done, total });
      await pause();
      decode.resumeAt(decode.ended);
      if (signal.aborted) break;
    }
  }

  /** Decode to the end and send the steps; return the time of the last one in nanoseconds. */
  private async decodeRounds(
    id: number,
    decode: Decode,
    record: RunRecord,
    signal: AbortSignal,
  ): Promise<number> {
    let wall = decode.ended;
    while (!signal.aborted) {
      decode.resumeAt(wall);
      const rows = decode.rounds(SLICE_MS);
      if (!rows) break;
      wall = decode.ended;
      this.say({ kind: "append", id, steps: record.append(rows) });
      await pause();
    }
    return wall;
  }

  /** Measure forward passes after 128 cached tokens. */
  private async time({ id, model, widths }: TimeJob, signal: AbortSignal) {
    const { runtime } = await unlessCancelled(this.loading.loaded, signal);
    await this.waitFor(id, [model], signal);
    const least: Record<number, number> = {};
    for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
      this.say({ kind: "stage", id, text: "measuring", done: round, total: ROUNDS });
      const times = runtime.time(model, widths, 128, 1);
      for (const width of widths) least[width] = Math.min(least[width] ?? Infinity, times[width]);
      await pause();
    }
    this.say({ kind: "timed", id, milliseconds: least });
  }

  /** Wait until the models and databases of a job are loaded, or the job is cancelled. */
  private async waitFor(id: number, names: string[], signal: AbortSignal) {
    for (const name of names) {
      this.say({ kind: "stage", id, text: `loading ${name}`, done: null, total: null });
      await unlessCancelled(this.loading.part(name), signal);
    }
  }
}
