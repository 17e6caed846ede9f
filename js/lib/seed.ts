// Seeds are integers of 63 bits (hsd_viz/decoding/options.py), but a JavaScript number is exact
// only up to 53 bits. Runs on the page therefore hold a larger seed as text: Python sends it that
// way (hsd_viz/views/run_data.py), and this module reads and records it that way. The form accepts
// seeds of 31 bits. Pure functions.

export type Seed = number | string;

/** Upper bound of seeds, exclusive. */
const END = 2n ** 63n;

/** Return the value with which a run records a seed. */
export function recordedSeed(seed: bigint): Seed {
  return seed <= Number.MAX_SAFE_INTEGER ? Number(seed) : String(seed);
}

/**
 * Return the seed of a request. Throws a one-line error if it is out of range or a number that may
 * have been rounded.
 */
export function requestedSeed(seed: number | string | bigint = 0): bigint {
  const isExact = typeof seed !== "number" || Number.isSafeInteger(seed);
  const value = isExact && /^\d+$/.test(String(seed)) ? BigInt(seed) : -1n;
  if (value < 0n || value >= END)
    throw new Error(
      `the seed ${seed} is out of range: it is a whole number from 0 to 2^63-1, ` +
        "as text or a bigint from 2^53 on",
    );
  return value;
}

/**
 * Parse the JSON of a trace file, and keep the digits of a large seed as text. The pattern matches
 * only a key: inside a JSON string, the quotes would be escaped with backslashes.
 */
export function parseTrace(text: string): unknown {
  return JSON.parse(
    text.replace(/"seed"\s*:\s*(\d{16,})/g, (key, seed) =>
      Number.isSafeInteger(Number(seed)) ? key : `"seed":"${seed}"`,
    ),
  );
}
