// A seed is a whole number of 63 bits (hsd_viz/decoding/options.py); a JavaScript number holds 53.
// A larger one is text in every run of the page: Python sends it so (hsd_viz/views/run_data.py),
// and what is read or recorded here follows. The form takes seeds of 31 bits. Pure.

export type Seed = number | string;

/** Seeds are below this. */
const END = 2n ** 63n;

/** The seed that a run records. */
export function recordedSeed(seed: bigint): Seed {
  return seed <= Number.MAX_SAFE_INTEGER ? Number(seed) : String(seed);
}

/**
 * The seed of a request; a number that may have been rounded is refused. Throws a one-line error.
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
 * Parse the JSON of a trace file, whose seed is a number of any size. Within a text of JSON a quote
 * has a backslash before it, so that what matches is a key.
 */
export function parseTrace(text: string): unknown {
  return JSON.parse(
    text.replace(/"seed"\s*:\s*(\d{16,})/g, (key, seed) =>
      Number.isSafeInteger(Number(seed)) ? key : `"seed":"${seed}"`,
    ),
  );
}
