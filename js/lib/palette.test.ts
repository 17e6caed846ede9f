// The families of sources.
import assert from "node:assert/strict";
import { test } from "vitest";
import { paletteOf, YOU } from "./palette";

const hue = { label: "", light: "#000000", dark: "#ffffff" };
const hues = { context: hue, draft: hue, baseline: hue };

test("a source has its own family, that of baselines or that of draft models", () => {
  const { family } = paletteOf({
    hues,
    baselines: ["suffix", "lookup"],
    copying: ["context", "suffix"],
    databases: ["context"],
  });
  assert.deepEqual(["context", "suffix", "lookup", "my/model", "draft", YOU].map(family), [
    "context",
    "context",
    "baseline",
    "draft",
    "draft",
    YOU,
  ]);
});
