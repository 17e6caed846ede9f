// The native runtime in WebAssembly: models, databases and the compiled loop. What
// hsd_viz/native/*.py is for the library, this is for the module; the arithmetic is the same, and
// so are the tokens and the rows (docs/reference/arithmetic.md).
import type { Tables } from "../lib/tables";
import type { Column, Manifest, ModelFacts, Section } from "./manifest";
import type { Module } from "./memory";
import type { TabModel, TabStack } from "./stacks";
import type { Tokenizer } from "./tokenizer";

export interface Sampling {
  temperature: number;
  top_k: number;
  top_p: number;
  min_p: number;
  seed: bigint;
  rule: string;
}
export interface DecodeSettings {
  prompt: number[];
  stack: TabStack;
  sampling: Sampling;
  max_new_tokens: number;
}
interface Model {
  facts: ModelFacts;
  /** Where the joined parts of packed weights are. */
  at: number;
  handle: number;
  bytes: number;
  cos: number;
  sin: number;
}
/** Tokens of the prompt fed at a time: PREFILL_CHUNK of loop.hpp. */
const PREFILL_CHUNK = 512;
/** The tensors of a layer by their slots. */
const LAYER = [
  ...["q", "k", "v", "o"].map((slot) => [slot, `self_attn.${slot}_proj`]),
  ...["gate", "up", "down"].map((slot) => [slot, `mlp.${slot}_proj`]),
  ...["q_norm", "k_norm"].map((slot) => [slot, `self_attn.${slot}`]),
  ...[
    ["input_norm", "input_layernorm"],
    ["post_norm", "post_attention_layernorm"],
  ],
];

interface Tensors {
  /** The bytes of each tensor. */
  bytes: Record<string, Uint8Array>;
  types: Record<string, string>;
  metadata: Record<string, string>;
}
/** Read a safetensors file. */
export function readTensors(file: Uint8Array): Tensors {
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const { __metadata__: metadata = {}, ...header } = JSON.parse(
    new TextDecoder().decode(file.subarray(8, 8 + length)),
  );
  const found: Tensors = { bytes: {}, types: {}, metadata };
  for (const [name, { dtype, data_offsets }] of Object.entries(header as Record<string, Entry>)) {
    const [begin, end] = data_offsets.map((offset) => 8 + length + offset);
    found.bytes[name] = file.subarray(begin, end);
    found.types[name] = dtype;
  }
  return found;
}
type Entry = { dtype: string; data_offsets: [number, number] };

/**
 * Tables of cosines and sines [places][n], doubled from one place as hsd_viz/native/weights.py
 * does.
 */
export function angles(
  { cos: c, sin: s }: ModelFacts["turn"],
  places: number,
): [Float32Array, Float32Array] {
  const n = c.length;
  let [tc, ts] = [[...c], [...s]];
  const cos = new Float64Array(places * n).fill(1, 0, n);
  const sin = new Float64Array(places * n);
  for (let have = 1; have < places; have *= 2) {
    for (let k = 0; k < Math.min(have, places - have) * n; k++) {
      const i = k % n;
      cos[have * n + k] = cos[k] * tc[i] - sin[k] * ts[i];
      sin[have * n + k] = sin[k] * tc[i] + cos[k] * ts[i];
    }
    [tc, ts] = [tc.map((x, i) => x * x - ts[i] * ts[i]), tc.map((x, i) => 2 * (ts[i] * x))];
  }
  return [Float32Array.from(cos), Float32Array.from(sin)];
}

export class Runtime {
  private readonly models = new Map<string, Model>();
  private readonly databases = new Map<string, number>();

  constructor(
    readonly module: Module,
    readonly manifest: Manifest,
  ) {}

  has(name: string) {
    return this.models.has(name) || this.databases.has(name);
  }

  /** Pack the weights of a model. */
  addModel(name: string, file: Uint8Array) {
    const { module, manifest } = this;
    const facts = manifest.models[name];
    const shape = module.structures("Shape", [facts.shape]);
    const handle = module.make("hsd_model_new", shape);
    module.free(shape);
    const tensors = readTensors(file).bytes;
    const set = (layer: number, slot: string, tensor: string, kept = false) => {
      const scales = tensors[tensor.replace(/weight$/, "scale")];
      const data = module.put(tensors[tensor]);
      const by = scales === undefined ? 0 : module.put(scales);
      module.make("hsd_model_set", handle, layer, manifest.slots.indexOf(slot), data, by);
      if (kept) return;
      module.free(data);
      if (by) module.free(by);
    };
    for (let layer = 0; layer < facts.shape.layers; layer++)
      for (const [slot, part] of LAYER) set(layer, slot, `model.layers.${layer}.${part}.weight`);
    set(-1, "embedding", "model.embed_tokens.weight", true);
    set(-1, "final_norm", "model.norm.weight");
    set(-1, "head", "model.embed_tokens.weight");
    this.keep(name, handle, 0);
  }

  /**
   * Add a model whose packed weights are stored from `at` on; they are read there, and not copied.
   */
  addPacked(name: string, at: number) {
    const { module, manifest } = this;
    const facts = manifest.models[name];
    const shape = module.structures("Shape", [facts.shape]);
    const handle = module.make("hsd_model_new", shape);
    module.free(shape);
    const lender = facts.embedding_of ? this.model(facts.embedding_of) : null;
    const lent = lender?.facts.sections?.find(([, slot]) => slot === "embedding");
    if (lender && lent) this.place(handle, lent, lender.at, false);
    for (const section of facts.sections ?? [])
      this.place(handle, section, at, Boolean(facts.tied_head));
    for (const layer of facts.unturned ?? []) module.make("hsd_model_unturned", handle, layer);
    this.keep(name, handle, at);
  }
  /** Give a section of packed weights to a model. */
  private place(
    handle: number,
    [layer, slot, bits, start, size]: Section,
    at: number,
    tied: boolean,
  ) {
    const { module, manifest } = this;
    if (slot === "head_tokens") {
      module.make("hsd_model_head_tokens", handle, at + start, size / 4);
      return;
    }
    const set = (name: string) => {
      const number = manifest.slots.indexOf(name);
      if (bits) module.make("hsd_model_panels", handle, layer, number, at + start, bits);
      else module.make("hsd_model_set", handle, layer, number, at + start, 0);
    };
    set(slot);
    if (tied && slot === "embedding") set("head");
  }
  private keep(name: string, handle: number, at: number) {
    const { module, manifest } = this;
    const facts = manifest.models[name];
    const [cos, sin] = angles(facts.turn, facts.positions).map((table) => module.put(table));
    const bytes = Number(module.call("hsd_model_bytes", handle));
    this.models.set(name, { facts, at, handle, bytes, cos, sin });
  }

  /**
   * Token ids of a prompt, or of a turn of a conversation; an empty one is the token that starts a
   * text.
   */
  read(tokenizer: Tokenizer, prompt: string, chat = false): number[] {
    const { chat: around, start } = this.manifest.text;
    if (chat && !around)
      throw new Error("these models have no chat template: give the prompt as it should be read");
    if (chat && around) return tokenizer.encode(around[0] + prompt + around[1]);
    const ids = tokenizer.encode(prompt);
    if (!ids.length && start === null) throw new Error("the prompt is empty: write a prompt");
    return ids.length ? ids : [start as number];
  }

  /** Open a database file (hsd_viz/drafting/index/format.py), whose checksum was compared. */
  addDatabase(name: string, file: Uint8Array) {
    const { bytes, types, metadata } = readTensors(file);
    const { vocabulary_size, bits, longest } = JSON.parse(metadata.facts);
    const fields: Record<string, number> = {
      limit: -1,
      most_in_bucket: 0,
      longest,
      shift: 32 - bits,
    };
    for (const [tensor, content] of Object.entries(bytes)) {
      const size = types[tensor] === "U16" ? 2 : 4;
      fields[tensor] = this.module.put(content);
      fields[`n_${tensor}`] = content.length / size;
      if (tensor === "values") fields.value_bytes = size;
    }
    fields.wide = vocabulary_size > 2 ** 16 ? 1 : 0;
    this.databases.set(name, this.module.structures("IndexFile", [fields]));
  }

  /**
   * Milliseconds of forward passes of each width after `cached` tokens: the least of `rounds`
   * interleaved measurements.
   */
  time(name: string, widths: number[], cached: number, rounds: number): Record<number, number> {
    const { module } = this;
    const model = this.model(name);
    const session = module.make("hsd_session_new", model.handle);
    const most = Math.max(...widths, cached);
    const tokens = module.put(
      Int32Array.from({ length: most }, (_, k) => (k * 97 + 11) % model.facts.shape.vocab),
    );
    const logits = module.allocate(4 * most * model.facts.shape.vocab);
    const feed = (n: number, rows: number, before: number) =>
      module.make(
        "hsd_session_forward",
        session,
        tokens,
        n,
        0,
        rows,
        logits,
        model.cos,
        model.sin,
        before,
        1,
      );
    if (cached) feed(cached, 1, 0);
    const least: Record<number, number> = {};
    for (let round = 0; round < rounds; round++) {
      for (const width of widths) {
        // The clock of most pages has steps of 0.1 ms: short passes are timed together.
        const started = performance.now();
        let passes = 0;
        while (performance.now() - started < 4) passes += feed(width, width, cached);
        least[width] = Math.min(least[width] ?? Infinity, (performance.now() - started) / passes);
      }
    }
    module.call("hsd_session_free", session);
    module.free(tokens);
    module.free(logits);
    return least;
  }

  decode = (settings: DecodeSettings) => new Decode(this, settings);

  model(name: string): Model {
    return this.models.get(name) as Model;
  }

  /** Make the drafter of `db` below a verifier: hsd_viz/native/drafter.py. */
  drafter(databases: string[], verifier: string, target: string, temperature: number): number {
    const { module } = this;
    const { settings, nodes, floor, greedy, sampled, discounts, copying, state_depth } =
      this.manifest.drafting;
    const rules = module.structures("Drafting", [settings]);
    const handle = module.make("hsd_drafter_new", rules);
    const heat = Math.min(1, temperature) * Math.min(1, temperature);
    const given = [rules];
    const put = (numbers: ArrayBufferView) => given[given.push(module.put(numbers)) - 1];
    for (const name of databases) {
      const rates = Float64Array.from(
        greedy[name],
        (rate, n) => (1 - heat) * rate + heat * sampled[name][n],
      );
      if (name === "semantic") {
        const numbers = module.structures("Copying", [copying]);
        given.push(numbers);
        module.make("hsd_drafter_add_semantic", handle, numbers, put(rates), discounts[name]);
        const { layers } = this.model(target).facts.shape;
        module.call(
          "hsd_drafter_watch",
          handle,
          Math.min(layers - 1, Math.floor(state_depth * layers)),
        );
      } else {
        module.make(
          "hsd_drafter_add",
          handle,
          this.databases.get(name) ?? 0,
          put(rates),
          discounts[name],
        );
      }
    }
    const { ends } = this.manifest.text;
    module.make("hsd_drafter_ends", handle, put(Int32Array.from(ends)), ends.length);
    const { at, slopes, least_slope } = this.model(verifier).facts.costs;
    const tables = [put(Float64Array.from(at)), put(Float64Array.from(slopes))];
    module.make("hsd_drafter_costs", handle, ...tables, nodes + 1, least_slope, floor);
    for (const address of given) module.free(address);
    return handle;
  }
}

/**
 * One decode, run bit by bit: prefill() to its end, then rounds() until it returns null. close()
 * frees it.
 */
export class Decode {
  readonly names: string[];
  readonly limit: number;
  readonly emitted: number[] = [];
  private readonly sources: string[];
  private readonly contexts: number[];
  private readonly handle: number;
  private readonly sessions: number[] = [];
  private readonly drafter: number;
  private zero = performance.now();
  /** The time when decoding last paused: what is made of its rows is not part of it. */
  ended = 0;
  private more = 1;
  private filled: number[] = [];

  constructor(
    private readonly runtime: Runtime,
    private readonly settings: DecodeSettings,
  ) {
    const { prompt, stack, sampling, max_new_tokens } = settings;
    const { module, manifest } = runtime;
    const { models, databases } = stack;
    const parts = models.map((model) => runtime.model(model.name));
    const levels = models.map(({ name, lookahead }) =>
      lookahead === null ? "target" : name === "target" ? "ladder-target" : name,
    );
    this.names = [...(databases ? ["db"] : []), ...levels];
    this.contexts = [
      ...(databases ? [Infinity] : []),
      ...parts.map(({ facts }) => facts.positions),
    ];
    this.sources = [...this.names.slice(0, -1), "target", ...(databases ?? [])];
    const { positions, shape } = (parts.at(-1) as Model).facts;
    this.limit = Math.min(prompt.length + max_new_tokens, positions);
    this.drafter = databases
      ? runtime.drafter(
          databases,
          models[0].name,
          (models.at(-1) as TabModel).name,
          sampling.temperature,
        )
      : 0;
    const rows = parts.map(({ handle, cos, sin, bytes }, k) => {
      const session = module.make("hsd_session_new", handle);
      this.sessions.push(session);
      const rule = manifest.rules.indexOf(sampling.rule);
      const { lookahead, confidence } = models[k];
      const { positions } = parts[k].facts;
      return {
        session,
        cos,
        sin,
        bytes,
        confidence,
        lookahead: lookahead ?? 0,
        rule,
        threads: 1,
        positions,
      };
    });
    const { temperature, top_p, min_p, top_k, seed } = sampling;
    const numbers = {
      temperature,
      top_p,
      min_p,
      top_k: Math.min(top_k, shape.vocab),
      seed: BigInt.asIntN(64, seed),
    };
    const limits = {
      vocab: shape.vocab,
      limit: this.limit,
      budget: manifest.drafting.nodes,
      details: manifest.top,
    };
    const given = [
      module.structures("DecodeSettings", [{ ...numbers, ...limits }]),
      module.structures("LevelSettings", rows),
      module.put(Int32Array.from(prompt)),
      module.put(Int32Array.from(manifest.text.ends)),
    ];
    const [all, specs, text, ends] = given;
    const written = [
      specs,
      rows.length,
      this.drafter,
      text,
      prompt.length,
      ends,
      manifest.text.ends.length,
    ];
    this.handle = module.make("hsd_decode_new", all, 0, ...written);
    for (const address of given) module.free(address);
  }

  /** Nanoseconds since the start, less the time between two calls. */
  now(): number {
    return Math.round((performance.now() - this.zero) * 1e6);
  }
  /** Set the time to `now`: what passed since then is not the decode's. */
  resumeAt(now: number) {
    this.zero = performance.now() - now / 1e6;
  }

  /**
   * Feed all of the prompt but its last token to every level, a part at a time; yields (level,
   * tokens done, tokens in all).
   */
  *prefill(): Generator<[name: string, done: number, total: number]> {
    const whole = this.settings.prompt.length - 1;
    for (const [k, name] of this.names.entries()) {
      const database = k === 0 && this.drafter !== 0;
      // A draft model whose context the prompt fills takes no part.
      if (!database && k < this.names.length - 1 && this.contexts[k] <= whole + 1) continue;
      for (let begin = 0; begin === 0 || (!database && begin < whole); begin += PREFILL_CHUNK) {
        this.run(0);
        this.filled.push(...this.rows("calls"));
        if (whole && !database) yield [name, Math.min(begin + PREFILL_CHUNK, whole), whole];
      }
    }
  }

  /** Decode for about `ms`; null when the text has ended. The texts of tokens are null. */
  rounds(ms: number): Tables | null {
    if (this.more === 0) return null;
    this.run(ms * 1e6);
    const rows = Object.entries(this.runtime.manifest.tables).map(([name, columns]) => {
      const before = name === "calls" ? this.filled.splice(0) : [];
      return [name, this.columns([...before, ...this.rows(name)], columns)];
    });
    const found: Tables = Object.fromEntries(rows);
    for (const token of found.tokens.token_id) this.emitted.push(token);
    return found;
  }

  close() {
    const { module } = this.runtime;
    module.call("hsd_decode_free", this.handle);
    for (const session of this.sessions) module.call("hsd_session_free", session);
    if (this.drafter) module.call("hsd_drafter_free", this.drafter);
  }

  private run(ns: number) {
    this.more = this.runtime.module.call(
      "hsd_decode_run",
      this.handle,
      BigInt(ns),
      BigInt(this.now()),
    );
    this.ended = this.now();
  }

  private rows(table: string): number[] {
    const { module, manifest } = this.runtime;
    const start = module.allocate(4);
    const n = module.call(
      "hsd_decode_rows",
      this.handle,
      Object.keys(manifest.tables).indexOf(table),
      start,
    );
    const at = module.view().getUint32(start, true);
    module.free(start);
    return [...module.array(Float64Array, at, n)];
  }

  /** Numbers of a row with these columns. */
  private width(columns: Column[]): number {
    return columns.reduce(
      (sum, [, kind]) => sum + (kind === "top" ? 2 * this.runtime.manifest.top : 1),
      0,
    );
  }

  private columns(cells: number[], columns: Column[]): Record<string, unknown[]> {
    const width = this.width(columns);
    const values = columns.map((column, k) => {
      const at = this.width(columns.slice(0, k));
      const rows = Array.from({ length: cells.length / width }, (_, n) =>
        this.value(cells, n * width + at, column),
      );
      return [column[0], rows];
    });
    return Object.fromEntries(values);
  }

  private value(cells: number[], at: number, [name, kind, names]: Column): unknown {
    const value = cells[at];
    if (kind === "top") {
      const pairs: [number, number][] = [];
      for (let k = at; k < at + 2 * this.runtime.manifest.top; k += 2)
        if (!Number.isNaN(cells[k + 1])) pairs.push([cells[k], cells[k + 1]]);
      return pairs.length ? pairs : null;
    }
    if (Number.isNaN(value)) return null;
    // A path is the sum of 2 to the power of its levels.
    if (kind === "ints")
      return this.names.map((_, level) => level).filter((level) => (value / 2 ** level) & 1);
    if (kind !== "str") return value;
    return (name === "name" ? this.names : name === "source" ? this.sources : (names as string[]))[
      value
    ];
  }
}
