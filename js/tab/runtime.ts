// The native runtime in WebAssembly: models, databases and drafters for the compiled loop
// (decode.ts). The counterpart of hsd_viz/native/*.py, with the same arithmetic, tokens and rows
// (docs/reference/arithmetic.md).
import type { Manifest, ModelFacts, Section } from "./manifest";
import { type LentBuffers, type Module, withBuffers } from "./memory";
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

/** Return the mean duration of a pass in milliseconds. */
function meanTime(pass: () => void): number {
  const started = performance.now();
  let passes = 0;
  while (performance.now() - started < TIMED_MS) {
    pass();
    passes += 1;
  }
  return (performance.now() - started) / passes;
}

/** Where a tensor is stored for a call. */
type Memory = Pick<Module, "put">;

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
    return withBuffers(this.module, (buffers) =>
      this.module.make("hsd_model_new", buffers.structure("ModelShape", shape)),
    );
  }

  /** Add a model from a safetensors file, and pack its weights. */
  addModel(name: string, file: Uint8Array) {
    const { module, manifest } = this;
    const facts = manifest.models[name];
    const handle = this.newModel(facts);
    const tensors = readTensors(file).bytes;
    const set = (memory: Memory, layer: number, slot: string, tensor: string) => {
      const scales = tensors[tensor.replace(/weight$/, "scale")];
      const data = memory.put(tensors[tensor]);
      const by = scales === undefined ? 0 : memory.put(scales);
      module.make("hsd_model_set", handle, layer, manifest.slots.indexOf(slot), data, by);
    };
    const pack = (layer: number, slot: string, tensor: string) =>
      withBuffers(module, (buffers) => set(buffers, layer, slot, tensor));
    for (let layer = 0; layer < facts.shape.layers; layer++)
      for (const [slot, part] of LAYER) pack(layer, slot, `model.layers.${layer}.${part}.weight`);
    // The module reads the embedding where it is, and has its own copy of all other weights.
    set(module, -1, "embedding", "model.embed_tokens.weight");
    pack(-1, "final_norm", "model.norm.weight");
    pack(-1, "head", "model.embed_tokens.weight");
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
    for (const layer of facts.layers_without_rotary ?? [])
      module.make("hsd_model_disable_rope", handle, layer);
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
    const [cos, sin] = angles(facts.rotation, facts.positions).map((table) => module.put(table));
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
    const fastest: Record<number, number> = {};
    try {
      withBuffers(module, (buffers) => {
        const ids = Int32Array.from({ length: capacity }, (_, k) => (k * 97 + 11) % vocab);
        const tokens = buffers.put(ids);
        const logits = buffers.allocate(4 * capacity * vocab);
        const feed = (count: number, rows: number, before: number) => {
          const read = [session, tokens, count, 0, rows, logits];
          module.make("hsd_session_forward", ...read, cos, sin, before, 1);
        };
        if (cached) feed(cached, 1, 0);
        for (let round = 0; round < rounds; round++) {
          for (const width of widths) {
            const milliseconds = meanTime(() => feed(width, width, cached));
            fastest[width] = Math.min(fastest[width] ?? Infinity, milliseconds);
          }
        }
      });
    } finally {
      module.call("hsd_session_free", session);
    }
    return fastest;
  }

  model(name: string): Model {
    return this.models.get(name) as Model;
  }

  /** Create the drafter of `db` for a verifier, as hsd_viz/native/drafter.py does. */
  drafter(databases: string[], verifier: string, target: string, temperature: number): number {
    const { module, manifest } = this;
    return withBuffers(module, (buffers) => {
      const settings = buffers.structure("DrafterSettings", manifest.drafting.settings);
      const drafter = module.make("hsd_drafter_new", settings);
      try {
        for (const name of databases)
          this.addToDrafter(drafter, name, target, temperature, buffers);
        const { ends } = manifest.text;
        module.make("hsd_drafter_ends", drafter, buffers.put(Int32Array.from(ends)), ends.length);
        this.setCosts(drafter, verifier, buffers);
      } catch (error) {
        module.call("hsd_drafter_free", drafter);
        throw error;
      }
      return drafter;
    });
  }

  /** Add a database to a drafter, after those added before. */
  private addToDrafter(
    drafter: number,
    name: string,
    target: string,
    temperature: number,
    buffers: LentBuffers,
  ) {
    const { module } = this;
    const { discounts, semantic } = this.manifest.drafting;
    const rates = buffers.put(this.rates(name, temperature));
    const discount = discounts[name];
    if (name === "semantic") {
      const settings = buffers.structure("SemanticSettings", semantic);
      module.make("hsd_drafter_add_semantic", drafter, settings, rates, discount);
      module.call("hsd_drafter_watch", drafter, this.watchedLayer(target));
    } else {
      // A database without a file is filled from the text of the decode.
      const file = this.databases.get(name) ?? 0;
      module.make("hsd_drafter_add", drafter, file, rates, discount);
    }
  }

  /** Set the costs of the verifier's passes in a drafter. */
  private setCosts(drafter: number, verifier: string, buffers: LentBuffers) {
    const { costs } = this.model(verifier).facts;
    const { nodes, floor } = this.manifest.drafting;
    const at = buffers.put(Float64Array.from(costs.at));
    const slopes = buffers.put(Float64Array.from(costs.slopes));
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
