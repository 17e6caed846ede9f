// The native runtime in WebAssembly: models, databases and drafters for the compiled loop
// (decode.ts). The counterpart of hsd_viz/native/*.py, with the same arithmetic, tokens and rows
// (docs/reference/arithmetic.md).
import type { Manifest, ModelFacts, Section } from "./manifest";
import type { Module } from "./memory";
import { angles, readTensors } from "./tensors";
import type { Tokenizer } from "./tokenizer";

export interface Model {
  facts: ModelFacts;
  /** Address of the joined parts of packed weights. */
  at: number;
  handle: number;
  bytes: number;
  cos: number;
  sin: number;
}
/** Slots of a layer in the module, each with the name of its tensor. */
const LAYER: readonly (readonly [slot: string, tensor: string])[] = [
  ["q", "self_attn.q_proj"],
  ["k", "self_attn.k_proj"],
  ["v", "self_attn.v_proj"],
  ["o", "self_attn.o_proj"],
  ["gate", "mlp.gate_proj"],
  ["up", "mlp.up_proj"],
  ["down", "mlp.down_proj"],
  ["q_norm", "self_attn.q_norm"],
  ["k_norm", "self_attn.k_norm"],
  ["input_norm", "input_layernorm"],
  ["post_norm", "post_attention_layernorm"],
];

/**
 * Minimum duration of a measurement in milliseconds. Clocks of browsers have a resolution of about
 * 0.1 ms, so that short passes are timed together.
 */
const TIMED_MS = 4;

/** Return the mean duration of a pass in milliseconds. `pass` returns 1, the number of passes. */
function meanTime(pass: () => number): number {
  const started = performance.now();
  let passes = 0;
  while (performance.now() - started < TIMED_MS) passes += pass();
  return (performance.now() - started) / passes;
}

/** Argument buffers that are freed together; the module copies what it keeps beyond a call. */
class LentBuffers {
  private readonly addresses: number[] = [];

  constructor(private readonly module: Module) {}

  put(content: ArrayBufferView): number {
    return this.add(this.module.put(content));
  }
  structure(kind: string, fields: Record<string, number | bigint>): number {
    return this.add(this.module.structures(kind, [fields]));
  }
  free() {
    for (const address of this.addresses.splice(0)) this.module.free(address);
  }

  private add(address: number): number {
    this.addresses.push(address);
    return address;
  }
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

  /** Create a model without weights and return its handle. */
  private newModel({ shape }: ModelFacts): number {
    const { module } = this;
    const address = module.structures("ModelShape", [shape]);
    const handle = module.make("hsd_model_new", address);
    module.free(address);
    return handle;
  }

  /** Add a model from a safetensors file, and pack its weights. */
  addModel(name: string, file: Uint8Array) {
    const { module, manifest } = this;
    const facts = manifest.models[name];
    const handle = this.newModel(facts);
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

  /** Add a model whose packed weights are at address `at`; they are not copied. */
  addPacked(name: string, at: number) {
    const { module, manifest } = this;
    const facts = manifest.models[name];
    const handle = this.newModel(facts);
    const lender = facts.embedding_of ? this.model(facts.embedding_of) : null;
    const lentSection = lender?.facts.sections?.find(([, slot]) => slot === "embedding");
    if (lender && lentSection) this.place(handle, lentSection, lender.at, false);
    for (const section of facts.sections ?? [])
      this.place(handle, section, at, Boolean(facts.tied_head));
    for (const layer of facts.unturned ?? []) module.make("hsd_model_unturned", handle, layer);
    this.keep(name, handle, at);
  }
  /** Set the weights of a model from a section of packed weights. */
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
   * Return the token ids of a prompt, with `chat` as a turn of a conversation. An empty prompt
   * becomes the token that starts a text.
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

  /** Open a database file (hsd_viz/drafting/index/format.py) whose checksum was verified. */
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
    this.databases.set(name, this.module.structures("IndexArrays", [fields]));
  }

  /**
   * Measure forward passes after `cached` tokens: return milliseconds by width, each the minimum of
   * `rounds` interleaved measurements.
   */
  time(name: string, widths: number[], cached: number, rounds: number): Record<number, number> {
    const { module } = this;
    const { handle, facts, cos, sin } = this.model(name);
    const { vocab } = facts.shape;
    const capacity = Math.max(...widths, cached);
    const session = module.make("hsd_session_new", handle);
    const tokens = module.put(
      Int32Array.from({ length: capacity }, (_, k) => (k * 97 + 11) % vocab),
    );
    const logits = module.allocate(4 * capacity * vocab);
    const feed = (count: number, rows: number, before: number) => {
      const read = [session, tokens, count, 0, rows, logits];
      return module.make("hsd_session_forward", ...read, cos, sin, before, 1);
    };
    if (cached) feed(cached, 1, 0);
    const least: Record<number, number> = {};
    for (let round = 0; round < rounds; round++) {
      for (const width of widths) {
        const milliseconds = meanTime(() => feed(width, width, cached));
        least[width] = Math.min(least[width] ?? Infinity, milliseconds);
      }
    }
    module.call("hsd_session_free", session);
    module.free(tokens);
    module.free(logits);
    return least;
  }

  model(name: string): Model {
    return this.models.get(name) as Model;
  }

  /** Create the drafter of `db` for a verifier, as hsd_viz/native/drafter.py does. */
  drafter(databases: string[], verifier: string, target: string, temperature: number): number {
    const { module, manifest } = this;
    const buffers = new LentBuffers(module);
    const settings = buffers.structure("DrafterSettings", manifest.drafting.settings);
    const drafter = module.make("hsd_drafter_new", settings);
    for (const name of databases) this.ask(drafter, name, target, temperature, buffers);
    const { ends } = manifest.text;
    module.make("hsd_drafter_ends", drafter, buffers.put(Int32Array.from(ends)), ends.length);
    this.setCosts(drafter, verifier, buffers);
    buffers.free();
    return drafter;
  }

  /** Add a database to a drafter, after those added before. */
  private ask(
    drafter: number,
    name: string,
    target: string,
    temperature: number,
    lent: LentBuffers,
  ) {
    const { module } = this;
    const { discounts, semantic } = this.manifest.drafting;
    const rates = lent.put(this.rates(name, temperature));
    const discount = discounts[name];
    if (name === "semantic") {
      const settings = lent.structure("SemanticSettings", semantic);
      module.make("hsd_drafter_add_semantic", drafter, settings, rates, discount);
      module.call("hsd_drafter_watch", drafter, this.watchedLayer(target));
    } else {
      // A database without a file is filled from the text of the decode.
      const file = this.databases.get(name) ?? 0;
      module.make("hsd_drafter_add", drafter, file, rates, discount);
    }
  }

  /** Set the costs of the verifier's passes in a drafter. */
  private setCosts(drafter: number, verifier: string, lent: LentBuffers) {
    const { costs } = this.model(verifier).facts;
    const { nodes, floor } = this.manifest.drafting;
    const at = lent.put(Float64Array.from(costs.at));
    const slopes = lent.put(Float64Array.from(costs.slopes));
    const { least_slope } = costs;
    this.module.make("hsd_drafter_costs", drafter, at, slopes, nodes + 1, least_slope, floor);
  }

  /** Interpolate the acceptance rates of a database between greedy decoding and temperature 1. */
  private rates(database: string, temperature: number): Float64Array {
    const { greedy, sampled } = this.manifest.drafting;
    const capped = Math.min(1, temperature);
    const heat = capped * capped;
    return Float64Array.from(
      greedy[database],
      (rate, n) => (1 - heat) * rate + heat * sampled[database][n],
    );
  }

  /** Return the layer of a target whose states the semantic database compares. */
  private watchedLayer(target: string): number {
    const { layers } = this.model(target).facts.shape;
    return Math.min(layers - 1, Math.floor(this.manifest.drafting.state_depth * layers));
  }
}
