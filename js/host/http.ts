// Decodes on a page served by `hsd-viz serve`: `POST /decode` responds with one line of JSON per
// event (hsd_viz/serve/app.py).
import type { Progress } from "../host";
import { metricsOf } from "../lib/metrics";
import { SETTING_NAMES } from "../lib/options";
import { storeOf } from "../lib/run";
import { type Head, joined, type Meta, type Snapshot, type Step } from "../lib/run_data";
import { besidePlain } from "./plain";

/** Fields of a request that the server accepts. */
const FIELDS = ["prompt", "stack", ...SETTING_NAMES, "rule", "chat"];
/** A line of the response: an event with its fields. */
interface Line
  extends Step,
    Record<"event" | "message" | "text", string>,
    Record<"position" | "done" | "total", number> {
  meta?: Meta &
    Head & { stack_resolved: string; bottom: string | null; models: { name: string }[] };
}

/** A run that is built from lines of the response. */
class ServedRun {
  /** Steps so far. The first one has only the prompt's tokens. */
  readonly steps: Step[] = [{ tokens: {}, drafts: {}, rounds: {}, calls: {}, pieces: {} } as Step];
  private run = { run: `server-${Math.random()}`, seq: 0, meta: {} } as Snapshot;

  constructor(private readonly on: Partial<Progress>) {}

  /** Process lines of the response, and report the steps among them. */
  take(lines: readonly string[]) {
    const first = this.steps.length;
    for (const line of lines) this.hear(JSON.parse(line));
    const steps = this.steps.slice(first);
    if (!steps.length) return;
    const seq = this.steps.length - 1;
    this.on.append?.({ kind: "append", run: this.run.run, first, seq, steps });
  }

  /** Whether the last line has arrived. */
  get isFinished(): boolean {
    return this.run.meta.cancelled === false;
  }

  /** Return the final head of the run, with the measured speed. */
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
    run.meta.wall_ns = null; // the first meta is that of a cancelled run, until the run ends
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
/** Return a handler that throws this message instead of the browser's own. */
const fail = (message: string) => (): never => {
  throw new Error(message);
};

/** Yield the texts of a response's body as they arrive. */
async function* textsOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const next = () => reader?.read().catch(fail(CLOSED));
  for (let part = await next(); part && !part.done; part = await next()) yield part.value;
}

/** Return the server's reason for a refusal. A proxy in front of the server gives none. */
async function reasonOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return JSON.parse(text).error || statusText(answer);
  } catch {
    return statusText(answer);
  }
}
const statusText = ({ status }: Response) => `the server answers with status ${status}`;

/** Send a request, and feed the lines of its response to the run as they arrive. */
async function receive(run: ServedRun, request: RequestInit) {
  const answer = await fetch("decode", request).catch(fail("the server does not answer"));
  if (!answer.ok) throw new Error(await reasonOf(answer));
  let unfinished = "";
  for await (const text of textsOf(answer)) {
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop() ?? "";
    run.take(lines);
  }
  if (!run.isFinished) throw new Error(CLOSED);
}

/** Remove the token from the page's address and return it; "": there is none. */
function takeToken(): string {
  const here = new URL(location.href);
  const token = here.searchParams.get("token") ?? "";
  here.searchParams.delete("token");
  history.replaceState(null, "", here);
  return token;
}

/**
 * Return the `decode` of a page's host. A token is removed from the page's address, and is sent
 * with each request.
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
