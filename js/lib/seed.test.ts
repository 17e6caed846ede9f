// A seed of more than 53 bits keeps its value in the page, and on its way back to Python.
import { expect, test } from "vitest";
import { fieldsOf, numberOf, rangesOf } from "../app/state";
import FACTS from "../elements/facts.json";
import { runOfTrace } from "../elements/file";
import { samplingText } from "./facts";
import { storeOf } from "./run";
import type { Snapshot } from "./run_data";
import { parseTrace, recordedSeed, requestedSeed } from "./seed";

const LARGE = "4611686018427387905"; // 2^62 + 1, of which a number loses the 1

const runWith = (seed: number | string): Snapshot =>
  ({
    run: "r",
    seq: 1,
    prompt: "",
    prompt_ids: [],
    levels: [],
    pieces: {},
    tokens: {},
    drafts: {},
    rounds: {},
    calls: {},
    meta: { stack: "target", sampling: { temperature: 1, seed }, prefill_ns: 0, wall_ns: 1 },
  }) as unknown as Snapshot;

test.each([
  ["the largest of a number", 2n ** 53n - 1n, 9007199254740991],
  ["the least that is text", 2n ** 53n, "9007199254740992"],
  ["the largest", 2n ** 63n - 1n, "9223372036854775807"],
])("a run records its seed: %s", (_, seed, recorded) => {
  expect(recordedSeed(seed)).toBe(recorded);
  expect(requestedSeed(recorded)).toBe(seed);
});

test.each([
  ["none", undefined, 0n],
  ["a number", 7, 7n],
  ["text", LARGE, 2n ** 62n + 1n],
  ["a bigint", 2n ** 62n + 1n, 2n ** 62n + 1n],
])("a request has a seed: %s", (_, seed, value) => {
  expect(requestedSeed(seed)).toBe(value);
});

test.each([
  ["negative", -1],
  ["a fraction", 0.5],
  ["a number that may have been rounded", 2 ** 53],
  ["above 63 bits", 2n ** 63n],
  ["not a number", "1e3"],
])("a seed is refused: %s", (_, seed) => {
  expect(() => requestedSeed(seed)).toThrow(/the seed .* is out of range/);
});

test("a trace file of Python has its seed to the last digit", () => {
  const prompt = `"\\"seed\\": ${LARGE}"`;
  const meta = `{"stack": "target", "prompt": ${prompt}, "sampling": {"seed": ${LARGE}}}`;
  const text = `{"format": "hsd_viz trace", "schema": 2, "pieces": {}, "meta": ${meta},
    "tokens": {"token_id": [1]}, "rounds": {"id": [0]}}`;
  const run = runOfTrace(parseTrace(text), "a.json", FACTS.sources);
  expect(run.meta.sampling.seed).toBe(LARGE);
  expect(run.prompt).toBe(`"seed": ${LARGE}`);
});

test("a small seed of a trace file stays a number", () => {
  expect(parseTrace('{"seed": 9007199254740991}')).toEqual({ seed: 9007199254740991 });
});

test("the page shows, keeps and sends back the seed that it was given", () => {
  const run = storeOf(runWith(LARGE)).snapshot();
  expect(JSON.parse(JSON.stringify(run)).meta.sampling.seed).toBe(LARGE);
  expect(samplingText(run.meta.sampling)).toBe(`temperature 1, seed ${LARGE}`);
});

test.each([LARGE, 9007199254740991])("the form refuses %s by its own digits", (seed) => {
  const typed = fieldsOf(runWith(seed), 128).seed ?? "";
  const problem = numberOf(typed, rangesOf(128).seed);
  expect(problem).toBe(`Seed must be a whole number from 0 to 2147483647, not ${seed}.`);
});

test("a seed in an address is the seed of the request", () => {
  expect(numberOf("2147483647", rangesOf(128).seed)).toBe(2147483647);
});
