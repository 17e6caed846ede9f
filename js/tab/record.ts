// Records a decode as a run for the page: its steps, with the texts of their tokens. Pure: uses no
// document and no worker.
import {
  type Append,
  joined,
  type Meta,
  type Snapshot,
  type Step,
  tablesFrom,
} from "../lib/run_data";
import type { Tables } from "../lib/tables";
import type { Manifest } from "./manifest";
import type { Tokenizer } from "./tokenizer";

/** Facts of a run that are known before its first step. */
export interface RunFacts {
  run: string;
  prompt: string;
  prompt_ids: number[];
  levels: string[];
  /** The meta of the run without its times. */
  meta: Omit<Meta, "prefill_ns" | "wall_ns">;
  prefill_ns: number;
}

/** Return a step without rows. */
function emptyStep({ tables }: Manifest): Step {
  const empty = tablesFrom((table) =>
    Object.fromEntries(tables[table].map(([name]) => [name, []])),
  );
  return { ...empty, pieces: {} };
}

/** Fill in the texts of the tokens of a step. */
function nameTokens({ tokens, drafts }: Tables, tokenizer: Tokenizer) {
  const pieces = tokens.token_id.map((id) => tokenizer.piece(id));
  tokens.text = pieces.map(([text]) => text);
  tokens.raw = pieces.map(([, raw]) => raw);
  drafts.text = drafts.token_id.map((id) => tokenizer.piece(id)[0]);
}

/** Return the token ids of a step, including the recorded alternatives. */
function idsOf({ tokens, drafts }: Tables): number[] {
  const rows = [...tokens.top, ...tokens.residual_top, ...tokens.q_top];
  const likely = rows.flatMap((row) => (row ?? []).map(([id]) => id));
  return [...tokens.token_id, ...drafts.token_id, ...likely];
}

export class RunRecord {
  /** The first step: the texts of the prompt's tokens, and no rows. */
  private readonly start: Step;
  private readonly steps: Step[] = [];
  /** Ids of tokens whose texts the page already has. */
  private readonly known = new Set<number>();

  constructor(
    private readonly facts: RunFacts,
    private readonly tokenizer: Tokenizer,
    manifest: Manifest,
  ) {
    this.start = { ...emptyStep(manifest), pieces: this.pieces(facts.prompt_ids) };
  }

  /** Return the run before its first step. */
  begun(): Snapshot {
    return { ...this.head(null), ...this.start };
  }

  /** Add the rows of rounds; return the message that carries them to the page. */
  append(rows: Tables): Append {
    nameTokens(rows, this.tokenizer);
    const step = { ...rows, pieces: this.pieces(idsOf(rows)) };
    const seq = this.steps.push(step);
    return { kind: "append", run: this.facts.run, first: seq, seq, steps: [step] };
  }

  /** Return the finished run; `wall_ns`: its duration in nanoseconds. */
  whole(wall_ns: number): Snapshot {
    return { ...this.head(wall_ns), ...joined([this.start, ...this.steps]) };
  }

  private head(wall_ns: number | null) {
    const { run, prompt, prompt_ids, levels, meta, prefill_ns } = this.facts;
    const seq = this.steps.length;
    return { run, seq, prompt, prompt_ids, levels, meta: { ...meta, prefill_ns, wall_ns } };
  }

  /** Return the texts of tokens that the page does not have yet. */
  private pieces(ids: Iterable<number>): Record<string, string> {
    const pieces: Record<string, string> = {};
    for (const id of ids) {
      if (this.known.has(id)) continue;
      this.known.add(id);
      pieces[id] = this.tokenizer.piece(id)[0];
    }
    return pieces;
  }
}
