// What a tab does when it is asked: load a family, decode, measure, cancel.
import type { Answer, Ask } from "./client";
import { Decode } from "./decode";
import { Loading } from "./loading";
import { ModuleEnded, OutOfMemory } from "./memory";
import { neededBy, planOf } from "./plan";
import { RunRecord } from "./record";
import { factsOf, resultOf } from "./result";

/** Milliseconds of decoding between two messages. */
const SLICE_MS = 40;
/** Measurements of which the least counts: other work only adds to them. */
const ROUNDS = 12;
/** Let messages in. */
const pause = () => new Promise<void>((done) => setTimeout(done));

type Job = Extract<Ask, { kind: "decode" | "time" }>;
type DecodeJob = Extract<Ask, { kind: "decode" }>;
type TimeJob = Extract<Ask, { kind: "time" }>;

/** Loads one family, and does one job at a time, in the order in which they were asked for. */
export class TabDecoder {
  /** What cancels a job, from its request to its end. */
  private readonly controls = new Map<number, AbortController>();
  /** Settled when all jobs so far have ended. */
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly say: (answer: Answer) => void,
    private readonly loading = new Loading(say),
  ) {}

  receive(ask: Ask) {
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

  /** Do a job after those before it. */
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
    const loaded = await this.loading.loaded;
    const { manifest, runtime, tokenizer } = loaded;
    const plan = planOf(loaded, request);
    await this.waitFor(id, neededBy(plan.stack, manifest));
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

  /** Feed the prompt, and let messages in between its parts. */
  private async prefill(id: number, decode: Decode, signal: AbortSignal) {
    for (const [name, done, total] of decode.prefill()) {
      this.say({ kind: "stage", id, text: `prefill ${name}`, done, total });
      await pause();
      decode.resumeAt(decode.ended);
      if (signal.aborted) break;
    }
  }

  /** Decode to the end, and send the steps; returns the time of the last one. */
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

  /** Measure forward passes after 128 tokens. */
  private async time({ id, model, widths }: TimeJob, signal: AbortSignal) {
    const { runtime } = await this.loading.loaded;
    await this.waitFor(id, [model]);
    const least: Record<number, number> = {};
    for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
      this.say({ kind: "stage", id, text: "measuring", done: round, total: ROUNDS });
      const times = runtime.time(model, widths, 128, 1);
      for (const width of widths) least[width] = Math.min(least[width] ?? Infinity, times[width]);
      await pause();
    }
    this.say({ kind: "timed", id, milliseconds: least });
  }

  /** Wait for the models and databases that a job needs. */
  private async waitFor(id: number, names: string[]) {
    for (const name of names) {
      this.say({ kind: "stage", id, text: `loading ${name}`, done: null, total: null });
      await this.loading.part(name);
    }
  }
}
