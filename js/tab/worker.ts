// The worker of a page: loads the files of one family, and decodes one request at a time.
import { metricsOf } from "../lib/metrics";
import { SETTING_NAMES, SETTINGS, type Setting, type SettingName } from "../lib/options";
import { type Snapshot, storeOf } from "../lib/run";
import type { Answer, Ask, Request, Result } from "./client";
import { Decode, type Sampling } from "./decode";
import { Files, fetched } from "./files";
import { FORMAT, type Manifest } from "./manifest";
import { Module, OutOfMemory } from "./memory";
import { RunRecord } from "./record";
import { Runtime } from "./runtime";
import { parse, type TabStack } from "./stacks";
import { Tokenizer } from "./tokenizer";

/** Milliseconds of decoding between two messages. */
const SLICE_MS = 40;
/** Measurements of which the least counts: other work only adds to them. */
const ROUNDS = 12;
const say = (answer: Answer) => self.postMessage(answer);
/** Let messages in. */
const pause = () => new Promise<void>((done) => setTimeout(done));

interface Loaded {
  manifest: Manifest;
  runtime: Runtime;
  tokenizer: Tokenizer;
}
/** A promise that is settled from outside. */
class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (why: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => Object.assign(this, { resolve, reject }));
}
const cancelled = new Set<number>();
/** Settled when a model or database is there. */
const parts = new Map<string, Deferred<void>>();
const base = new Deferred<Loaded>();
let work: Promise<unknown> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<Ask>) => {
  if (data.kind === "cancel") cancelled.add(data.id);
  else if (data.kind === "load")
    load(data).catch((error) => say({ kind: "unusable", message: (error as Error).message }));
  else {
    const run = () =>
      data.kind === "decode"
        ? decode(data.id, data.request)
        : time(data.id, data.model, data.widths);
    work = work.then(run).catch((error) => {
      const memory = error instanceof OutOfMemory;
      say({ kind: "failed", id: data.id, message: (error as Error).message, memory });
    });
  }
};

async function load({ base: folder, keep }: Extract<Ask, { kind: "load" }>) {
  const manifest: Manifest = JSON.parse(
    new TextDecoder().decode(await fetched(`${folder}manifest.json`, () => {})),
  );
  if (manifest.format !== FORMAT)
    throw new Error("The site is of another version than its page: reload the page.");
  const total = Object.values(manifest.files).reduce((sum, { bytes }) => sum + bytes, 0);
  const files = await Files.open(folder, manifest, keep);
  let before = 0;
  const ready: string[] = [];
  const file = async (name: string) => {
    const content = await files.get(name, (bytes) =>
      say({ kind: "loading", done: before + bytes, total, file: name, ready }),
    );
    before += content.length;
    return content;
  };
  const later = [...Object.keys(manifest.models), ...Object.keys(manifest.databases)];
  for (const name of later) parts.set(name, new Deferred());
  for (const part of [base, ...parts.values()]) part.promise.catch(() => {});
  try {
    const module = await Module.open(await file("hsd-viz.wasm"), manifest);
    // Whether there is room for all weights shows before they are requested.
    const rooms = Object.entries(manifest.models).map(([name, { bytes }]): [string, number] => [
      name,
      bytes ? module.allocate(bytes) : 0,
    ]);
    const places = new Map(rooms);
    const tokenizer = new Tokenizer(
      JSON.parse(new TextDecoder().decode(await file("tokenizer.json"))),
    );
    const runtime = new Runtime(module, manifest);
    base.resolve({ manifest, runtime, tokenizer });
    for (const name of later) {
      if (name in manifest.models) {
        await addModel(runtime, name, places.get(name) ?? 0, file);
        // Browsers compile a second time, better, what is used: now, not during the first decode.
        runtime.time(name, [1, 5], 16, 2);
      } else runtime.addDatabase(name, await file(manifest.databases[name]));
      ready.push(name);
      parts.get(name)?.resolve();
      say({ kind: "loading", done: before, total, file: "", ready });
    }
  } catch (error) {
    for (const part of [base, ...parts.values()]) part.reject(error);
    throw error;
  }
}

/** Load a model: one file that is packed here, or packed parts, joined at an address. */
async function addModel(
  runtime: Runtime,
  name: string,
  at: number,
  file: (name: string) => Promise<Uint8Array<ArrayBuffer>>,
) {
  const { parts: names, sections } = runtime.manifest.models[name];
  if (!sections) return runtime.addModel(name, await file(names[0]));
  let end = at;
  for (const part of names) {
    const content = await file(part);
    runtime.module.array(Uint8Array, end, content.length).set(content);
    end += content.length;
  }
  runtime.addPacked(name, at);
}

/** Check a request as hsd_viz/options.py does. Throws a one-line error. */
function settings(
  request: Request,
  manifest: Manifest,
): { sampling: Sampling; tokens: number; stack: TabStack } {
  const { seed = 0, rule = manifest.defaults.rule, prompt } = request;
  const refuse = (what: string, value: unknown, allowed: string) => {
    throw new Error(`${what} ${value} is out of range: it is ${allowed}`);
  };
  if (typeof prompt !== "string") throw new Error(`the prompt is text, not ${typeof prompt}`);
  const numbers = {} as Record<SettingName, number>;
  for (const name of SETTING_NAMES) {
    if (name === "seed") continue;
    const { words, whole, low, aboveLow, high, usual }: Setting = SETTINGS[name];
    const value = request[name] ?? usual;
    const fits =
      (aboveLow ? value > low : value >= low) && value <= (high ?? Number.MAX_SAFE_INTEGER);
    const from = aboveLow ? `above ${low}` : high === null ? `of at least ${low}` : `from ${low}`;
    const to = high === null ? "" : aboveLow ? ` and up to ${high}` : ` to ${high}`;
    if (!fits || (whole && !Number.isSafeInteger(value)))
      refuse(words, value, `a ${whole ? "whole " : ""}number ${from}${to}`);
    numbers[name] = value;
  }
  const { temperature, top_k, top_p, min_p, max_new_tokens: tokens } = numbers;
  const number = /^\d+$/.test(String(seed)) ? BigInt(seed) : -1n;
  if (number < 0n || number >= 2n ** 63n)
    refuse("the seed", seed, "a whole number from 0 to 2^63-1");
  if (!manifest.rules.includes(rule))
    throw new Error(`unknown verification rule '${rule}': use ${manifest.rules.join(" or ")}`);
  const sampling = { temperature, top_k, top_p, min_p, seed: number, rule };
  return { sampling, tokens, stack: parse(String(request.stack), manifest) };
}

/** Wait for what a stack needs. */
async function wait(id: number, names: string[]) {
  for (const name of names) {
    const part = parts.get(name) as Deferred<void>;
    say({ kind: "stage", id, text: `loading ${name}`, done: null, total: null });
    await part.promise;
  }
}

/** What a request is decoded with. */
interface Plan {
  stack: TabStack;
  prompt: number[];
  sampling: Sampling;
  max_new_tokens: number;
}

/** Read a request. Throws a one-line error if it cannot be decoded. */
function planOf({ manifest, runtime, tokenizer }: Loaded, request: Request): Plan {
  const { sampling, tokens, stack } = settings(request, manifest);
  const prompt = runtime.read(tokenizer, request.prompt, Boolean(request.chat));
  const target = stack.models[stack.models.length - 1].name;
  const { positions } = manifest.models[target];
  if (prompt.length >= positions)
    throw new Error(
      `the prompt has ${prompt.length} tokens and the context holds ${positions}: ` +
        "use a shorter prompt",
    );
  return { stack, prompt, sampling, max_new_tokens: tokens };
}

/** The models and database files of a stack. */
function neededBy({ models, databases }: TabStack, { stacks }: Manifest): string[] {
  const files = (databases ?? []).filter((name) => !stacks.of_the_text.includes(name));
  return [...models.map(({ name }) => name), ...files];
}

/** What is known of a run after its prefill. */
function factsOf(id: number, request: Request, plan: Plan, manifest: Manifest, prefill_ns: number) {
  const { stack, prompt, sampling, max_new_tokens } = plan;
  const models = stack.models.map(({ name }) => name);
  return {
    run: `tab-${id}`,
    prompt: request.prompt,
    prompt_ids: prompt,
    levels: stack.databases ? ["db", ...models] : models,
    prefill_ns,
    meta: {
      device: "cpu",
      device_name: "this browser tab",
      dtype: "int8",
      threads: 1,
      family: manifest.family,
      runtime: "WebAssembly",
      chat: Boolean(request.chat),
      max_new_tokens,
      stack: stack.resolved,
      sampling: { ...sampling, seed: Number(sampling.seed) },
    },
  };
}

/** Feed the prompt, and let messages in between its parts. */
async function prefill(id: number, run: Decode) {
  for (const [name, done, total] of run.prefill()) {
    say({ kind: "stage", id, text: `prefill ${name}`, done, total });
    await pause();
    run.resumeAt(run.ended);
    if (cancelled.has(id)) break;
  }
}

/** Decode to the end, and send the steps; returns the time of the last one. */
async function decodeRounds(id: number, run: Decode, record: RunRecord): Promise<number> {
  let wall = run.ended;
  while (!cancelled.has(id)) {
    run.resumeAt(wall);
    const rows = run.rounds(SLICE_MS);
    if (!rows) break;
    wall = run.ended;
    say({ kind: "append", id, steps: record.append(rows) });
    await pause();
  }
  return wall;
}

async function decode(id: number, request: Request) {
  const loaded = await base.promise;
  const { manifest, runtime, tokenizer } = loaded;
  const plan = planOf(loaded, request);
  await wait(id, neededBy(plan.stack, manifest));
  const run = new Decode(runtime, plan);
  try {
    await prefill(id, run);
    const facts = factsOf(id, request, plan, manifest, run.ended);
    const record = new RunRecord(facts, tokenizer, manifest);
    say({ kind: "begin", id, run: record.begun() });
    const wall = await decodeRounds(id, run, record);
    const whole = record.whole(wall);
    const result = resultOf(plan, run, whole, loaded);
    say({ kind: "done", id, run: whole, result, memory: runtime.module.bytes });
  } finally {
    run.close();
    cancelled.delete(id);
  }
}

/** The result of a decode, as the command line prints it. */
function resultOf(
  plan: Plan,
  run: Decode,
  whole: Snapshot,
  { manifest, tokenizer }: Loaded,
): Result {
  const { stack, prompt, max_new_tokens } = plan;
  const ids = run.emitted;
  const isShort = prompt.length + ids.length < run.limit;
  const { calls_by_level, ...metrics } = metricsOf(storeOf(whole));
  return {
    text: tokenizer.decode(ids),
    token_ids: [...ids],
    stop_reason: stopOf(ids, manifest.text.ends, isShort, max_new_tokens),
    stack: stack.written,
    stack_resolved: stack.resolved,
    target: stack.models.at(-1)?.name ?? "",
    metrics,
    calls_by_level,
  };
}

/** Why a text of emitted tokens ended; `short`: before its limit. */
function stopOf(
  ids: number[],
  ends: number[],
  short: boolean,
  tokens: number,
): Result["stop_reason"] {
  if (ids.length && ends.includes(ids[ids.length - 1])) return "eos";
  if (short) return "cancelled";
  return ids.length >= tokens ? "length" : "context";
}

/** Measure forward passes after 128 tokens. */
async function time(id: number, model: string, widths: number[]) {
  const { runtime } = await base.promise;
  await wait(id, [model]);
  const least: Record<number, number> = {};
  for (let round = 0; round < ROUNDS && !cancelled.has(id); round++) {
    say({ kind: "stage", id, text: "measuring", done: round, total: ROUNDS });
    const found = runtime.time(model, widths, 128, 1);
    for (const width of widths) least[width] = Math.min(least[width] ?? Infinity, found[width]);
    await pause();
  }
  cancelled.delete(id);
  say({ kind: "timed", id, milliseconds: least });
}
