// Where a figure comes from, in a few words, and what is to be known before it is believed.
import { expect, test } from "vitest";
import {
  chipsOf,
  fastestText,
  loadText,
  madeText,
  modelText,
  originOf,
  suiteChips,
} from "./origin";

/** A run of eight tokens in 40 µs over plain decoding of `speed`. */
const run = (plain: object | null, meta: object = {}): any => ({
  tokens: Array.from({ length: 8 }, (_, k) => ({ token_id: k, source: "context" })),
  rounds: new Map(
    [0, 1, 2, 3].map((id) => [id, { id, level: 1, drafted: 2, examined: 2, accepted: 1 }]),
  ),
  drafts: new Map(),
  calls: [0, 1, 2, 3].map(() => ({ level: 1, kind: "verify", duration_ns: 1 })),
  meta: {
    stack: "db > target",
    prefill_ns: 1000,
    wall_ns: 41_000,
    plain,
    models: [{ name: "target", model: "SmolLM2-135M-Instruct" }],
    ...meta,
  },
});
const PLAIN = { tokens_per_second: 125_000 };
const wordsOf = (of: any, text = "A summary", kind: any = "recording") =>
  chipsOf(of, text, kind).map(({ words }) => words);

test("the model, the text and the origin are named first; a speed is that of this prompt", () => {
  expect(wordsOf(run(PLAIN))[0]).toBe("SmolLM2-135M-Instruct · this prompt: A summary · recorded");
  const untimed = chipsOf(run(PLAIN), "A summary", "recording", { timed: false });
  expect(untimed[0].words).toBe("SmolLM2-135M-Instruct · A summary · recorded");
  expect(wordsOf(run(PLAIN), "your prompt", "finished")[0]).toMatch(/ · measured here$/);
});

test.each([
  ["of the fastest of several runs", { fastest_of: 5 }, PLAIN, "fastest of 5 runs"],
  ["of one pair", {}, PLAIN, "one pair of runs: spread unknown"],
  [
    "of several pairs, with its spread",
    {},
    { ...PLAIN, speedups: [1.6, 1.9, 1.4] },
    "1.40–1.90 × over 3 pairs of runs",
  ],
])("a speed-up is %s", (_, meta, plain, words) => {
  expect(wordsOf(run(plain, meta))[1]).toBe(words);
});

test("a run without plain decoding has no spread", () => {
  expect(wordsOf(run(null)).length).toBe(1);
});

test("a busy machine is a reason for doubt beside the figure", () => {
  const chips = chipsOf(run({ ...PLAIN, load_average: 4.05, cores: 2 }), "A summary", "recording");
  expect(chips.at(-1)).toEqual({ words: "busy: load 4.0 on 2 cores", warns: true });
  expect(loadText({ plain: { load_average: 1.9, cores: 2 } })).toBe("");
});

test("what is not a speed has its origin alone", () => {
  const busy = run({ ...PLAIN, load_average: 9, cores: 2 });
  expect(chipsOf(busy, "A summary", "recording", { timed: false }).length).toBe(1);
});

test("the project's own target is named by what it is", () => {
  const models = [{ name: "target", model: "target", parameters: 12_195_456 }];
  expect(modelText({ models })).toBe("Python model of 12 M");
  expect(modelText({ models: [{ name: "x", model: "target", parameters: "<b>" as any }] })).toBe(
    "Python model",
  );
  expect(modelText({ imported: { engine: "vLLM" } })).toBe("vLLM");
});

test("the target of another family is named by the title of the family", () => {
  const models = [{ name: "target", model: "target", parameters: 134_515_008 }];
  const families = [{ name: "smollm2", title: "SmolLM2-135M-Instruct, which answers in English" }];
  expect(modelText({ models, family: "smollm2" }, families)).toBe("SmolLM2-135M-Instruct");
  expect(modelText({ models, family: "smollm2" })).toBe("smollm2");
  expect(modelText({ models, family: "code" }, families)).toBe("Python model of 135 M");
  const page: any = {
    store: { state: { shown: "here", kind: "finished", opened: null } },
    group: { store: run(null, { models, family: "smollm2" }) },
    host: { about: { recordings: [], families } },
  };
  expect(originOf(page)[0].words).toMatch(/^SmolLM2-135M-Instruct · /);
});

test("a game is modelled, and an imported request was measured elsewhere", () => {
  expect(madeText({ modelled: true }, "recording")).toBe("modelled");
  expect(madeText({ imported: { engine: "vLLM" } }, "recording")).toBe("measured by its engine");
});

test("the text is that of the recording, the file or the visitor", () => {
  const page = (shown: string, opened: any = null) => ({
    store: { state: { shown, kind: "recording" as const, opened } },
    group: { store: run(null) },
    host: { about: { recordings: [{ name: "summary", title: "A summary (1.48×)" }] } },
  });
  const words = (of: ReturnType<typeof page>) => originOf(of)[0].words.split(" · ")[1];
  expect(words(page("summary"))).toBe("this prompt: A summary");
  expect(words(page("here"))).toBe("your prompt");
  expect(words(page("opened file", { name: "mine.json", run: null }))).toBe(
    "this prompt: mine.json",
  );
});

test("a saved report of the same models, stack and settings is beside the prompt", () => {
  const suite = {
    family: "smollm2",
    name: "Spec-Bench",
    file: "spec.json",
    stack: "db > target",
    temperature: 0.7,
    dtype: "int8",
    prompts: 24,
    value: 1.124,
    low: 1.086,
    high: 1.169,
  };
  const meta = { family: "smollm2", dtype: "int8", sampling: { temperature: 0.7 } };
  const own = run(PLAIN, meta);
  expect(suiteChips(own, [{ ...suite, value: 9, dtype: "bfloat16" }, suite])).toEqual([
    {
      figure: "1.12\u00a0×",
      words: "usually: [1.09,\u00a01.17] on 24 prompts",
      detail: ", Spec-Bench.",
      title: "95 % interval; spec.json",
    },
  ]);
  for (const change of [
    { family: "code" },
    { stack: "hd > target" },
    { temperature: 0 },
    { dtype: "float32" },
  ])
    expect(suiteChips(own, [{ ...suite, ...change }])).toEqual([]);
  const plain = run(PLAIN, { ...meta, stack: "target" });
  expect(suiteChips(plain, [{ ...suite, stack: "target" }])).toEqual([]);
  const slower = { ...suite, stack: "hd > target", value: 0.5 };
  const other = { ...suite, file: "other.json", value: 9 };
  expect(fastestText([slower, suite, other])).toBe(
    "Fastest: db > target; Spec-Bench: 1.12\u00a0× [1.09,\u00a01.17]",
  );
  expect(fastestText([])).toBe("");
});
