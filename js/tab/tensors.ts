// Reads safetensors files, and computes tables of rotary angles. Pure functions.
import type { ModelFacts } from "./manifest";

/** A tensor in the header of a safetensors file. */
interface Entry {
  dtype: string;
  data_offsets: [begin: number, end: number];
}
export interface Tensors {
  /** Data of each tensor, by name. */
  bytes: Record<string, Uint8Array>;
  types: Record<string, string>;
  metadata: Record<string, string>;
}
/** Size of the length field before the header, in bytes. */
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
 * Compute tables of cosines and sines [places][n] from those of one position, by doubling as in
 * hsd_viz/native/weights.py.
 */
export function angles(
  rotation: ModelFacts["rotation"],
  places: number,
): [Float32Array, Float32Array] {
  const n = rotation.cos.length;
  // The rotation by `have` positions, which doubles the tables.
  let cosines = [...rotation.cos];
  let sines = [...rotation.sin];
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
