// Files of tensors, and the tables of rotary angles. Pure.
import type { ModelFacts } from "./manifest";

/** An entry of a safetensors header. */
interface Entry {
  dtype: string;
  data_offsets: [begin: number, end: number];
}
export interface Tensors {
  /** The bytes of each tensor. */
  bytes: Record<string, Uint8Array>;
  types: Record<string, string>;
  metadata: Record<string, string>;
}
/** The bytes of a header's length, before it. */
const PREFIX = 8;

/** Read a safetensors file. */
export function readTensors(file: Uint8Array): Tensors {
  const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
  const body = PREFIX + length;
  const text = new TextDecoder().decode(file.subarray(PREFIX, body));
  const { __metadata__: metadata = {}, ...header } = JSON.parse(text);
  const tensors: Tensors = { bytes: {}, types: {}, metadata };
  for (const [name, entry] of Object.entries(header as Record<string, Entry>)) {
    const [begin, end] = entry.data_offsets;
    tensors.bytes[name] = file.subarray(body + begin, body + end);
    tensors.types[name] = entry.dtype;
  }
  return tensors;
}

/**
 * Tables of cosines and sines [places][n], doubled from one place as hsd_viz/native/weights.py
 * does.
 */
export function angles(turn: ModelFacts["turn"], places: number): [Float32Array, Float32Array] {
  const n = turn.cos.length;
  // The angles of `have` places at once, by which the tables are doubled.
  let cosines = [...turn.cos];
  let sines = [...turn.sin];
  const cos = new Float64Array(places * n).fill(1, 0, n);
  const sin = new Float64Array(places * n);
  for (let have = 1; have < places; have *= 2) {
    for (let k = 0; k < Math.min(have, places - have) * n; k++) {
      const i = k % n;
      cos[have * n + k] = cos[k] * cosines[i] - sin[k] * sines[i];
      sin[have * n + k] = sin[k] * cosines[i] + cos[k] * sines[i];
    }
    const doubled = cosines.map((x, i) => x * x - sines[i] * sines[i]);
    sines = cosines.map((x, i) => 2 * (sines[i] * x));
    cosines = doubled;
  }
  return [Float32Array.from(cos), Float32Array.from(sin)];
}
