// What a page may say of a run: lossless by a rule of hsd_viz, and nothing of a rule of another
// package.
import { expect, test } from "vitest";
import { losslessText } from "./facts";

const SOURCES = { db: ["context"] };
const meta = (stack: string, temperature: number, more: object = {}): any => ({
  stack,
  sampling: { temperature, seed: 3, rule: "block" },
  prefill_ns: 0,
  wall_ns: 0,
  ...more,
});
const sampled = (rule: string, more: object = {}) =>
  meta("nano:4 > target", 0.7, { sampling: { temperature: 0.7, rule }, ...more });

test.each([
  ["plain", meta("target", 0.7), "Plain decoding: no drafts."],
  [
    "greedy",
    meta("nano:4 > target", 0),
    "Lossless: the output equals plain decoding of the target.",
  ],
  [
    "a database",
    meta("db > target", 0.7),
    "Lossless: the output equals plain sampling of the target with the same seed, token for token.",
  ],
  [
    "a draft model",
    meta("nano:4 > small", 0.7),
    "Lossless in distribution: the same seed may give another text than plain sampling of small.",
  ],
])("%s", (_, run, words) => {
  expect(losslessText(run, SOURCES)).toBe(words);
});

test("a served request is not certified", () => {
  const served = meta("vllm/eagle3 > vllm/target", 0, { imported: { engine: "vllm" } });
  expect(losslessText(served, SOURCES)).toBe(
    "A request that vllm served: whether it is lossless was not checked.",
  );
});

test.each(["token", "block", "branch"])("the rule %s is lossless", (rule) => {
  expect(losslessText(sampled(rule), SOURCES)).toMatch(/^Lossless in distribution/);
});

test("a rule of another package speaks for itself and is not certified", () => {
  expect(losslessText(sampled("best", { rule_words: "Accept all." }), SOURCES)).toBe(
    "Verified by the rule “best” of another package, which says of itself: “Accept all.”. " +
      "Nothing here has checked whether it is lossless.",
  );
  expect(losslessText(sampled("best"), SOURCES)).toBe(
    "Verified by the rule “best” of another package. " +
      "Nothing here has checked whether it is lossless.",
  );
});

test("a rule judges no point masses: databases and greedy decoding are lossless under any", () => {
  const rule = { temperature: 0.7, rule: "best" };
  expect(losslessText(meta("db > target", 0.7, { sampling: rule }), SOURCES)).toMatch(/^Lossless:/);
  expect(
    losslessText(meta("nano > target", 0, { sampling: { ...rule, temperature: 0 } }), SOURCES),
  ).toMatch(/^Lossless:/);
});
