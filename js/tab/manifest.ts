// The manifest that hsd_viz/engine/tab.py writes beside the files of a runtime: facts of the files,
// and constants of the Python package.

/** A matrix (4 or 8 bits) or vector (0 bits) in the joined parts of a model. */
export type Section = [layer: number, slot: string, bits: number, start: number, size: number];
export interface ModelFacts {
  /** Files of the weights: one safetensors file, or the parts of packed weights. */
  parts: string[];
  /** Sections of packed weights, and their total size in bytes. */
  sections?: Section[];
  bytes?: number;
  /** Model whose embedding this one shares; it is loaded first. */
  embedding_of?: string | null;
  /** Whether the head is the embedding, and the indices of layers without rotary angles. */
  tied_head?: boolean;
  layers_without_rotary?: number[];
  hash: string;
  parameters: number;
  positions: number;
  shape: Record<string, number>;
  /** Cosines and sines of the rotary angles at position 1. */
  rotation: { cos: number[]; sin: number[] };
  /** Relative costs of verifying 0, 1, 2, … draft tokens, by which `db` sizes its trees. */
  costs: { at: number[]; slopes: number[]; least_slope: number };
}
/** A column of hsd_viz/trace/tables.toml: its name, its kind, and the names of its codes. */
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
   * Tokens that end a text, the token that starts an empty text, and the texts of the chat template
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
     * Settings of the semantic database, and the depth of the layer whose states it compares, as a
     * share of the target's layers.
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
/** Return the CRC-32 of bytes. Pages over plain HTTP, as in a class, have no crypto.subtle. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) crc = CRC[(crc ^ bytes[i]) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Throw an error if a file differs from that of the manifest. */
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
