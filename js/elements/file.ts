// Reads trace files in the browser: converts a `.json` or `.json.gz`, whose columns are packed by
// hsd_viz/trace/tables.py, to a run.

import { unpacked } from "../lib/dom";
import { type Meta, type Snapshot, tablesFrom } from "../lib/run_data";
import { parseTrace } from "../lib/seed";
import { parseStack, type Sources } from "../lib/stack";
import type { Tables } from "../lib/tables";
import FACTS from "./facts.json";
import { runOfRounds } from "./rounds";

const FORMAT = "hsd_viz trace";
/** Newest schema version that can be read. */
export const SCHEMA = 2;
/** Code of null in columns of 32-bit integers. */
const NULL = -(2 ** 31);

type PackedColumn = unknown[] | Record<string, unknown>;
type Cell = number | string | null | unknown[];

const bytesOf = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** Decode little-endian numbers from base64. */
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

/** Return the values of a saved column, which may also be a plain list. */
export function unpackColumn(packed: PackedColumn): Cell[] {
  if (Array.isArray(packed)) return packed as Cell[];
  if ("of" in packed) {
    const values = packed.of as Cell[];
    return unpackColumn(packed.at as PackedColumn).map((place) => values[place as number]);
  }
  if ("n" in packed) {
    const ids = unpackColumn(packed.ids as PackedColumn);
    const shares = unpackColumn(packed.shares as PackedColumn);
    let from = 0;
    return unpackColumn(packed.n as PackedColumn).map((length) => {
      if ((length as number) < 0) return null;
      const start = from;
      from += length as number;
      return ids.slice(start, from).map((id, k) => [id, shares[start + k]]);
    });
  }
  return numbersOf(packed);
}

/** Return the names of the levels of a stack, lowest first; none for an invalid stack. */
export function levelsOf(stack: string, sources: Sources): string[] {
  try {
    return parseStack(stack, sources).flatMap((part) =>
      part.kind === "bottom" && part.name === "auto" ? part.items : [part.name],
    );
  } catch {
    return [];
  }
}

/** Default values of columns that traces of earlier versions lack, by table. */
const LATER: Partial<Record<keyof Tables, Record<string, Cell>>> = FACTS.later;

/** Return the columns of a saved table. */
function columnsOf(table: keyof Tables, saved: Record<string, PackedColumn> = {}) {
  const columns: Record<string, Cell[]> = {};
  for (const [name, packed] of Object.entries(saved)) columns[name] = unpackColumn(packed);
  const rows = Object.values(columns)[0]?.length ?? 0;
  for (const [name, value] of Object.entries(LATER[table] ?? {}))
    columns[name] ??= Array(rows).fill(value);
  return columns;
}

/** Convert the JSON of a trace to a run. Throws a one-line error if it is not a trace. */
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
  const saved = data as Record<string, Record<string, PackedColumn>>;
  const tables = tablesFrom((table) => columnsOf(table, saved[table]));
  const savedMeta = trace.meta as Meta & {
    stack_resolved?: string;
    prompt?: string;
    prompt_ids?: number[];
  };
  if (!tables.tokens.token_id?.length) {
    if (!tables.rounds.id?.length) throw new Error(`${name} has no emitted tokens`);
    return runOfServed(tables, savedMeta, name);
  }
  const stack = savedMeta.stack_resolved || savedMeta.stack;
  const meta: Meta = {
    ...savedMeta,
    stack,
    asked: savedMeta.stack,
    sampling: savedMeta.sampling ?? {},
  };
  return {
    run: name,
    seq: 1,
    prompt: savedMeta.prompt ?? "",
    prompt_ids: savedMeta.prompt_ids ?? [],
    levels: levelsOf(stack, sources),
    meta,
    pieces: trace.pieces,
    ...tables,
  };
}

/** Return the run of an imported request, which has only counts of drafted and accepted tokens. */
function runOfServed(tables: Tables, meta: Meta, name: string): Snapshot {
  const { drafted, accepted, duration_ns } = tables.rounds;
  const rounds = drafted.map((count, k) => {
    const ns = duration_ns?.[k];
    return { drafted: count, accepted: accepted[k], ...(ns ? { milliseconds: ns / 1e6 } : {}) };
  });
  return runOfRounds(rounds, { name, title: meta.imported?.engine ?? meta.stack });
}

/** Fetch and read a trace file, which may be compressed with gzip. */
export async function fetchRun(source: string, sources: Sources): Promise<Snapshot> {
  const name = source.split("/").at(-1) ?? source;
  const answer = await fetch(source);
  if (!answer.ok)
    throw new Error(`${name} cannot be loaded: ${answer.status} ${answer.statusText}`.trim());
  const bytes = new Uint8Array(await answer.arrayBuffer());
  // The server may have decompressed it already.
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
