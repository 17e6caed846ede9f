// A decode of the runtime in slices: prefill, then rounds. The counterpart of
// hsd_viz/native/loop.py.
import { tablesFrom } from "../lib/run_data";
import type { Tables } from "../lib/tables";
import { withBuffers } from "./memory";
import { columnsOf, type Names } from "./rows";
import type { Model, Runtime } from "./runtime";
import type { TabModel, TabStack } from "./stacks";

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
/** What hsd_decode_run returns while models read the prompt (hsd_viz/native/interface.py). */
const PREFILL = 2;

/** Name the levels of a stack, lowest first. A ladder target below another target is renamed. */
function levelsOf({ models, databases }: TabStack): string[] {
  const names = models.map(({ name, lookahead }) => {
    if (lookahead === null) return "target";
    return name === "target" ? "ladder-target" : name;
  });
  return databases ? ["db", ...names] : names;
}

/**
 * A decode in slices: exhaust prefill(), then call rounds() until it returns null. close() frees
 * its memory.
 */
export class Decode {
  /** Names of the levels, lowest first. */
  readonly names: string[];
  /** Maximum number of tokens of the output. */
  readonly limit: number;
  readonly emitted: number[] = [];
  /** Time of the last pause. The time for processing the rows of a slice is not counted. */
  ended = 0;
  private readonly models: Model[];
  private readonly words: Names;
  /** Handles in the module; 0: there is none. */
  private drafter = 0;
  private readonly sessions: number[] = [];
  private handle = 0;
  private zero = performance.now();
  private next = PREFILL;
  /** Rows of the calls of the prefill, returned with those of the first rounds. */
  private filled: number[] = [];

  constructor(
    private readonly runtime: Runtime,
    private readonly settings: DecodeSettings,
  ) {
    const { prompt, stack, max_new_tokens } = settings;
    const { databases } = stack;
    this.models = stack.models.map(({ name }) => runtime.model(name));
    this.names = levelsOf(stack);
    this.words = {
      levels: this.names,
      sources: [...this.names.slice(0, -1), "target", ...(databases ?? [])],
      top: runtime.manifest.top,
    };
    const { positions } = this.target.facts;
    this.limit = Math.min(prompt.length + max_new_tokens, positions);
    try {
      if (databases) this.drafter = this.makeDrafter(databases);
      for (const { handle } of this.models)
        this.sessions.push(runtime.module.make("hsd_session_new", handle));
      this.handle = this.makeDecode();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private get target(): Model {
    return this.models.at(-1) as Model;
  }

  private makeDrafter(databases: string[]): number {
    const { models } = this.settings.stack;
    const target = models.at(-1) as TabModel;
    const { temperature } = this.settings.sampling;
    return this.runtime.drafter(databases, models[0].name, target.name, temperature);
  }

  private makeDecode(): number {
    const { module, manifest } = this.runtime;
    const { ends } = manifest.text;
    const { prompt } = this.settings;
    return withBuffers(module, (buffers) =>
      module.make(
        "hsd_decode_new",
        buffers.structure("DecodeSettings", this.decodeSettings()),
        0,
        buffers.structures("LevelSettings", this.levelSettings()),
        this.models.length,
        this.drafter,
        buffers.put(Int32Array.from(prompt)),
        prompt.length,
        buffers.put(Int32Array.from(ends)),
        ends.length,
      ),
    );
  }

  private decodeSettings() {
    const { manifest } = this.runtime;
    const { temperature, top_p, min_p, top_k, seed } = this.settings.sampling;
    const { vocab } = this.target.facts.shape;
    return {
      temperature,
      top_p,
      min_p,
      top_k: Math.min(top_k, vocab),
      seed: BigInt.asIntN(64, seed),
      vocab,
      limit: this.limit,
      budget: manifest.drafting.nodes,
      details: manifest.top,
    };
  }

  private levelSettings() {
    const rule = this.runtime.manifest.rules.indexOf(this.settings.sampling.rule);
    return this.models.map(({ facts, cos, sin, bytes }, level) => {
      const { lookahead, confidence } = this.settings.stack.models[level];
      return {
        session: this.sessions[level],
        cos,
        sin,
        bytes,
        confidence,
        lookahead: lookahead ?? 0,
        rule,
        threads: 1,
        positions: facts.positions,
      };
    });
  }

  /** Return the nanoseconds since the start, without the time between slices. */
  now(): number {
    return Math.round((performance.now() - this.zero) * 1e6);
  }
  /** Reset the clock to `now`, so that the time since then is not counted. */
  resumeAt(now: number) {
    this.zero = performance.now() - now / 1e6;
  }

  /**
   * Feed all of the prompt but its last token to every level, in parts, and keep the rows of the
   * calls. Yields the name of the model, the tokens done and the total number of tokens.
   */
  *prefill(): Generator<[name: string, done: number, total: number]> {
    const total = this.settings.prompt.length - 1;
    while (this.next === PREFILL) {
      this.run(0);
      const cells = this.rows("calls");
      this.filled.push(...cells);
      const { level, name, cached, fed } = this.columnsOf("calls", cells);
      for (const [call, place] of (level as number[]).entries())
        if (place || !this.drafter)
          yield [name[call] as string, (cached[call] as number) + (fed[call] as number), total];
    }
  }

  private columnsOf(table: string, cells: number[]) {
    return columnsOf(cells, this.runtime.manifest.tables[table], this.words);
  }

  /**
   * Decode for about `ms` milliseconds and return the new rows, without the texts of tokens; null
   * when the output has ended.
   */
  rounds(ms: number): Tables | null {
    if (this.next === 0) return null;
    this.run(ms * 1e6);
    const tables = tablesFrom((name) => {
      const before = name === "calls" ? this.filled.splice(0) : [];
      return this.columnsOf(name, [...before, ...this.rows(name)]);
    });
    this.emitted.push(...tables.tokens.token_id);
    return tables;
  }

  close() {
    const { module } = this.runtime;
    if (this.handle) module.call("hsd_decode_free", this.handle);
    for (const session of this.sessions) module.call("hsd_session_free", session);
    if (this.drafter) module.call("hsd_drafter_free", this.drafter);
  }

  private run(ns: number) {
    const now = BigInt(this.now());
    this.next = this.runtime.module.call("hsd_decode_run", this.handle, BigInt(ns), now);
    this.ended = this.now();
  }

  /** Return the cells of the new rows of a table. */
  private rows(table: string): number[] {
    const { module, manifest } = this.runtime;
    const number = Object.keys(manifest.tables).indexOf(table);
    return withBuffers(module, (buffers) => {
      const start = buffers.allocate(4);
      const count = module.call("hsd_decode_rows", this.handle, number, start);
      const at = module.view().getUint32(start, true);
      return [...module.array(Float64Array, at, count)];
    });
  }
}
