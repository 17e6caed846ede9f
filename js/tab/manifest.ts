// What hsd_viz/engine/tab.py writes about the runtime's files, and what it takes from Python: one
// JSON file beside them.

/** A matrix (4 or 8 bits) or vector (0) in the joined parts of a model. */
export type Section = [layer: number, slot: string, bits: number, start: number, size: number];
export interface ModelFacts {
  /** The files of its weights: one safetensors file, or the parts of packed ones. */
  parts: string[];
  /** What packed weights have, and their bytes. */
  sections?: Section[];
  bytes?: number;
  /** The model whose embedding it reads, which is loaded before it. */
  embedding_of?: string | null;
  /** Whether the head is the embedding, and the layers without rotary angles. */
  tied_head?: boolean;
  unturned?: number[];
  hash: string;
  parameters: number;
  positions: number;
  shape: Record<string, number>;
  /** Cosines and sines of the rotary angles of one place. */
  turn: { cos: number[]; sin: number[] };
  /** The relative costs of verifying 0, 1, 2, ... draft tokens, by which `db` sizes its trees. */
  costs: { at: number[]; slopes: number[]; least_slope: number };
}
/**
 * A column of hsd_viz/trace/tables.toml: its name, its kind, and the names that its numbers stand
 * for.
 */
export type Column = [
  name: string,
  kind: "int" | "float" | "str" | "ints" | "top",
  names: string[] | null,
];
export interface Manifest {
  format: string;
  version: string;
  family: string;
  files: Record<string, { bytes: number; crc32: number }>;
  models: Record<string, ModelFacts>;
  databases: Record<string, string>;
  /**
   * Tokens that end a text, the one that starts an empty one, and what a chat template writes
   * before and after a turn.
   */
  text: { ends: number[]; start: number | null; chat: [before: string, after: string] | null };
  structures: Record<string, [name: string, kind: string][]>;
  slots: string[];
  tables: Record<string, Column[]>;
  top: number;
  rules: string[];
  stacks: {
    sources: Record<string, string[]>;
    databases: string[];
    of_the_text: string[];
    lookahead: number;
    most: number;
  };
  defaults: { rule: string };
  drafting: {
    nodes: number;
    floor: number;
    greedy: Record<string, number[]>;
    sampled: Record<string, number[]>;
    discounts: Record<string, number>;
    settings: Record<string, number>;
    /**
     * The numbers of the semantic database, and the layer whose states it compares, as a share of
     * the target's layers.
     */
    semantic: Record<string, number>;
    state_depth: number;
  };
}
export const FORMAT = "hsd_viz tab 2";

const CRC = Uint32Array.from({ length: 256 }, (_, i) => {
  for (let bit = 0; bit < 8; bit++) i = i & 1 ? (i >>> 1) ^ 0xedb88320 : i >>> 1;
  return i;
});
/** The CRC-32 of bytes. crypto.subtle is missing on pages that a class opens by plain HTTP. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) crc = CRC[(crc ^ bytes[i]) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Throw unless a file is the one of the manifest. */
export function check(name: string, bytes: Uint8Array, manifest: Manifest) {
  const facts = manifest.files[name];
  if (bytes.length !== facts.bytes)
    throw new Error(
      `${name} is incomplete: it has ${bytes.length} bytes, expected ${facts.bytes}. ` +
        "Reload the page.",
    );
  if (crc32(bytes) !== facts.crc32)
    throw new Error(
      `${name} is damaged or of another version: its checksum differs. Build the site again.`,
    );
}
