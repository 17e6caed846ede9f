// Live runs of a page that `hsd-viz serve` serves: `POST /decode` answers with a line of JSON per
// event (hsd_viz/serve/app.py).
import type { Progress } from "../host";
import { metricsOf } from "../lib/metrics";
import { SETTING_NAMES } from "../lib/options";
import { storeOf } from "../lib/run";
import { type Head, joined, type Meta, type Snapshot, type Step } from "../lib/run_data";
import { besidePlain } from "./plain";

/** The fields of a request that the server takes. */
const FIELDS = ["prompt", "stack", ...SETTING_NAMES, "rule", "chat"];
/** A line: an event with its fields. */
interface Line
  extends Step,
    Record<"event" | "message" | "text", string>,
    Record<"position" | "done" | "total", number> {
  meta?: Meta &
    Head & { stack_resolved: string; bottom: string | null; models: { name: string }[] };
}

/** A run as it arrives by lines. */
class ServedRun {
  /** The first step has the prompt's tokens alone. */
  readonly steps: Step[] = [{ tokens: {}, drafts: {}, rounds: {}, calls: {}, pieces: {} } as Step];
  private run = { run: `server-${Math.random()}`, seq: 0, meta: {} } as Snapshot;

  constructor(private readonly on: Partial<Progress>) {}

  /** Take the lines of a part of the answer, and pass on the steps among them. */
  take(lines: readonly string[]) {
    const first = this.steps.length;
    for (const line of lines) this.hear(JSON.parse(line));
    const steps = this.steps.slice(first);
    if (!steps.length) return;
    const seq = this.steps.length - 1;
    this.on.append?.({ kind: "append", run: this.run.run, first, seq, steps });
  }

  /** Whether the last line has come. */
  get isFinished(): boolean {
    return this.run.meta.cancelled === false;
  }

  /** The run with the speed that was measured. */
  finish() {
    const run = { ...this.run, ...joined(this.steps), seq: this.steps.length - 1 };
    const { prefill_seconds, seconds, tokens_per_second } = metricsOf(storeOf(run));
    run.meta.wall_ns ??= Math.round(1e9 * (prefill_seconds + seconds));
    return { run, speed: tokens_per_second };
  }

  private hear({ event, meta, ...one }: Line) {
    const { on } = this;
    if (event === "error") throw new Error(one.message);
    if (event === "queued") on.stage?.(`waiting in the queue: position ${one.position}`);
    if (event === "stage") on.stage?.(one.text, one.done, one.total);
    if (event === "step") this.steps.push(one);
    if (!meta) return;
    this.setHead(meta);
    if (event === "finished") return;
    const { run } = this;
    run.meta.wall_ns = null; // until its end, the meta is that of a cancelled run
    const begun = { ...run.meta, cancelled: false };
    on.begin?.({ ...run, ...this.steps[0], pieces: one.pieces, meta: begun });
  }

  private setHead(meta: NonNullable<Line["meta"]>) {
    const { stack: asked, stack_resolved: stack, bottom, models, prompt, prompt_ids } = meta;
    const names = models.map(({ name }) => name);
    const levels = bottom ? [bottom.split("[")[0], ...names] : names;
    this.run = { ...this.run, prompt, prompt_ids, levels, meta: { ...meta, stack, asked } };
  }
}

const CLOSED = "the server closed the connection before the end";
/** What rejects with this message in the place of a browser's. */
const fail = (message: string) => (): never => {
  throw new Error(message);
};

/** The texts of an answer's body as they arrive. */
async function* textsOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const next = () => reader?.read().catch(fail(CLOSED));
  for (let part = await next(); part && !part.done; part = await next()) yield part.value;
}

/** The reason that the server gives for a refusal; a proxy before it answers without one. */
async function reasonOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return JSON.parse(text).error || statusWords(answer);
  } catch {
    return statusWords(answer);
  }
}
const statusWords = ({ status }: Response) => `the server answers with status ${status}`;

/** Ask the server for a run, and take its lines as they come. */
async function receive(run: ServedRun, request: RequestInit) {
  const answer = await fetch("decode", request).catch(fail("the server does not answer"));
  if (!answer.ok) throw new Error(await reasonOf(answer));
  let rest = "";
  for await (const text of textsOf(answer)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    run.take(lines);
  }
  if (!run.isFinished) throw new Error(CLOSED);
}

/** Take the token out of the page's address; "": it has none. */
function takeToken(): string {
  const here = new URL(location.href);
  const token = here.searchParams.get("token") ?? "";
  here.searchParams.delete("token");
  history.replaceState(null, "", here);
  return token;
}

/**
 * The page's `decode`. A token in the page's address is removed there, and sent with each request.
 */
export function serverDecode() {
  const token = takeToken();
  const headers = {
    "Content-Type": "application/json",
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  return besidePlain(async (request, on, signal) => {
    const run = new ServedRun(on);
    const body = JSON.stringify(request, FIELDS);
    try {
      await receive(run, { method: "POST", headers, body, signal });
    } catch (problem) {
      if (!signal.aborted) throw problem;
    }
    return run.finish();
  });
}
