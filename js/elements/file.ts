// A trace file in the browser: the columns of a `.json` or `.json.gz`, packed as
// hsd_viz/trace/tables.py packs them, as a run.

import { unpacked } from "../lib/dom";
import { type Meta, type Snapshot, tablesFrom } from "../lib/run_data";
import { parseTrace } from "../lib/seed";
import { parseStack, type Sources } from "../lib/stack";
import type { Tables } from "../lib/tables";
import FACTS from "./facts.json";
import { runOfRounds } from "./rounds";

const FORMAT = "hsd_viz trace";
/** The newest form of a file that is read. */
export const SCHEMA = 2;
/** A null among 32-bit integers. */
const NULL = -(2 ** 31);

type Packed = unknown[] | Record<string, unknown>;
type Cell = number | string | null | unknown[];

const bytesOf = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** Little-endian numbers in base64. */
function numbersOf(packed: Record<string, unknown>): (number | null)[] {
  const isWhole = typeof packed.i4 === "string";
  const bytes = bytesOf(String(isWhole ? packed.i4 : packed.f8));
  const view = new DataView(bytes.buffer);
  const size = isWhole ? 4 : 8;
  return Array.from({ length: bytes.length / size }, (_, k) => {
    const value = isWhole ? view.getInt32(k * size, true) : view.getFloat64(k * size, true);
    const isMissing = isWhole ? value === NULL : Number.isNaN(value);
    return isMissing ? null : value;
  });
}

/** The values of a saved column; a plain list is one already. */
export function unpackColumn(packed: Packed): Cell[] {
  if (Array.isArray(packed)) return packed as Cell[];
  if ("of" in packed) {
    const values = packed.of as Cell[];
    return unpackColumn(packed.at as Packed).map((place) => values[place as number]);
  }
  if ("n" in packed) {
    const ids = unpackColumn(packed.ids as Packed);
    const shares = unpackColumn(packed.shares as Packed);
    let from = 0;
    return unpackColumn(packed.n as Packed).map((length) => {
      if ((length as number) < 0) return null;
      const start = from;
      from += length as number;
      return ids.slice(start, from).map((id, k) => [id, shares[start + k]]);
    });
  }
  return numbersOf(packed);
}

/** The names of the levels of a stack, lowest first; none of a text that is not a stack. */
export function levelsOf(stack: string, sources: Sources): string[] {
  try {
    return parseStack(stack, sources).flatMap((part) =>
      part.kind === "bottom" && part.name === "auto" ? part.items : [part.name],
    );
  } catch {
    return [];
  }
}

/** Values of columns that traces of earlier versions do not have, by table. */
const LATER: Partial<Record<keyof Tables, Record<string, Cell>>> = FACTS.later;

/** The columns of a saved table. */
function columnsOf(table: keyof Tables, saved: Record<string, Packed> = {}) {
  const columns: Record<string, Cell[]> = {};
  for (const [name, packed] of Object.entries(saved)) columns[name] = unpackColumn(packed);
  const rows = Object.values(columns)[0]?.length ?? 0;
  for (const [name, value] of Object.entries(LATER[table] ?? {}))
    columns[name] ??= Array(rows).fill(value);
  return columns;
}

/** The run of a trace's JSON. Throws an error with a one-line message if it is not one. */
export function runOfTrace(data: unknown, name: string, sources: Sources): Snapshot {
  const trace = data as {
    format?: string;
    schema?: number;
    meta?: Meta;
    pieces?: Record<string, string>;
  };
  if (trace?.format !== FORMAT || !trace.meta || !trace.pieces)
    throw new Error(`${name} is not an hsd_viz trace`);
  if (!((trace.schema ?? 0) <= SCHEMA))
    throw new Error(
      `${name} has schema version ${trace.schema}; this module reads up to ${SCHEMA}`,
    );
  const saved = data as Record<string, Record<string, Packed>>;
  const tables = tablesFrom((table) => columnsOf(table, saved[table]));
  const given = trace.meta as Meta & {
    stack_resolved?: string;
    prompt?: string;
    prompt_ids?: number[];
  };
  if (!tables.tokens.token_id?.length) {
    if (!tables.rounds.id?.length) throw new Error(`${name} has no emitted tokens`);
    return runOfServed(tables, given, name);
  }
  const stack = given.stack_resolved || given.stack;
  const meta: Meta = { ...given, stack, asked: given.stack, sampling: given.sampling ?? {} };
  return {
    run: name,
    seq: 1,
    prompt: given.prompt ?? "",
    prompt_ids: given.prompt_ids ?? [],
    levels: levelsOf(stack, sources),
    meta,
    pieces: trace.pieces,
    ...tables,
  };
}

/** An imported request says how many tokens each round drafted and accepted, not which. */
function runOfServed(tables: Tables, meta: Meta, name: string): Snapshot {
  const { drafted, accepted, duration_ns } = tables.rounds;
  const rounds = drafted.map((count, k) => {
    const ns = duration_ns?.[k];
    return { drafted: count, accepted: accepted[k], ...(ns ? { milliseconds: ns / 1e6 } : {}) };
  });
  return runOfRounds(rounds, { name, title: meta.imported?.engine ?? meta.stack });
}

/** Fetch and read a trace file, which may be packed by gzip. */
export async function fetchRun(source: string, sources: Sources): Promise<Snapshot> {
  const name = source.split("/").at(-1) ?? source;
  const answer = await fetch(source);
  if (!answer.ok)
    throw new Error(`${name} cannot be loaded: ${answer.status} ${answer.statusText}`.trim());
  const bytes = new Uint8Array(await answer.arrayBuffer());
  // A server may have unpacked it already.
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const text = isPacked ? await unpacked(bytes) : new TextDecoder().decode(bytes);
  let data: unknown;
  try {
    data = parseTrace(text);
  } catch {
    throw new Error(`${name} is not an hsd_viz trace: it is not JSON`);
  }
  return runOfTrace(data, name, sources);
}
