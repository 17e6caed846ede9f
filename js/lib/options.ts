// Written by `python -m tools.reference` from hsd_viz/decoding/options.py and hsd_viz/stack/.

/** Draft tokens of a model in a round, at most. */
export const MAX_LOOKAHEAD = 64;

/** A setting of a decode that is a number; `high` is null if there is no largest value. */
export interface Setting {
  words: string;
  label: string;
  whole: boolean;
  low: number;
  aboveLow: boolean;
  high: number | null;
  formLow: number;
  formHigh: number;
  usual: number;
}
export const SETTINGS = {
  max_new_tokens: {
    words: "max new tokens",
    label: "New tokens",
    whole: true,
    low: 1,
    aboveLow: false,
    high: 100000,
    formLow: 1,
    formHigh: 100000,
    usual: 128,
  },
  temperature: {
    words: "the temperature",
    label: "Temperature",
    whole: false,
    low: 0,
    aboveLow: false,
    high: 100,
    formLow: 0,
    formHigh: 100,
    usual: 0,
  },
  top_k: {
    words: "top-k",
    label: "Top-k (0: off)",
    whole: true,
    low: 0,
    aboveLow: false,
    high: null,
    formLow: 0,
    formHigh: 1000000,
    usual: 0,
  },
  top_p: {
    words: "top-p",
    label: "Top-p (1: off)",
    whole: false,
    low: 0,
    aboveLow: true,
    high: 1,
    formLow: 0.01,
    formHigh: 1,
    usual: 1,
  },
  min_p: {
    words: "min-p",
    label: "Min-p (0: off)",
    whole: false,
    low: 0,
    aboveLow: false,
    high: 1,
    formLow: 0,
    formHigh: 1,
    usual: 0,
  },
  seed: {
    words: "the seed",
    label: "Seed",
    whole: true,
    low: 0,
    aboveLow: false,
    high: null,
    formLow: 0,
    formHigh: 2147483647,
    usual: 0,
  },
} as const satisfies Record<string, Setting>;
export type SettingName = keyof typeof SETTINGS;
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];
