// The sentences with which a run and its tabs begin, by hand: their figures, or none.
import { expect, test } from "vitest";
import { acceptedOf, copiesOf, speedOf, timeOf } from "./headline";

const call = (level: number, kind: string, duration_ns: number, round = -1) => {
  const name = level ? "target" : "db";
  return { level, kind, name, duration_ns, round, fed: 3 };
};
/**
 * Eight tokens in four rounds and 40 µs, of which 30 are passes of the target over three tokens
 * each, one of them rejected, and 2 look-ups.
 */
const run = (plain: unknown, stack = "db > target", meta: object = {}): any => ({
  tokens: Array.from({ length: 8 }, (_, k) => ({ token_id: k, source: "context", at: k })),
  rounds: new Map(
    [0, 1, 2, 3].map((id) => [
      id,
      { id, level: 1, drafted: 2, examined: 2, accepted: 1, start_ns: id, duration_ns: 1 },
    ]),
  ),
  drafts: new Map(),
  promptIds: [10, 11, 12],
  pieces: {},
  // Two passages: the first three tokens, and the sixth.
  ownDraft: ({ at }: { at: number }) => ({ position: [0, 1, 2, -1, -1, 1][at] ?? -1 }),
  calls: [
    call(1, "prefill", 900),
    call(0, "lookup", 2000),
    ...[0, 1, 2, 3].map((round) => call(1, "verify", 7500, round)),
  ],
  meta: { stack, sampling: {}, prefill_ns: 1000, wall_ns: 41_000, plain, ...meta },
});

test("the speed-up is first, with what a pass brought and cost", () => {
  const { figure, words } = speedOf(run({ tokens_per_second: 125_000 })) as any;
  expect(figure).toBe("1.60 ×");
  expect(words).toBe(
    "the speed of plain decoding: " +
      "a pass with its draft brought 2.0 tokens and cost 1.3 plain passes.",
  );
});
test("a speed-up above the tokens of a pass is doubted", () => {
  const headline = speedOf(run({ tokens_per_second: 50_000 }));
  expect(headline?.words).toBe("is impossible at 2.0 tokens per pass: timings were disturbed.");
});
test("without a plain run the speed is the figure, and so it is of plain decoding", () => {
  expect(speedOf(run(undefined))?.words).toContain("Plain decoding was not measured.");
  const plain = speedOf(run(undefined, "target"));
  expect(plain).toEqual({
    figure: "200000 tokens/s",
    words: "plain decoding: each pass of the model brings one token.",
  });
});
test("a text that repeats itself is named at once", () => {
  const looped = run({ tokens_per_second: 125_000 });
  looped.tokens = Array.from({ length: 40 }, () => ({ token_id: 1, source: "context", at: 9 }));
  looped.meta.plain.tokens_per_second = 900_000;
  expect(speedOf(looped)?.words).toContain("The text repeats itself");
});
test("accepted draft tokens are a share of all; without a draft there is none", () => {
  expect(acceptedOf(run(undefined))).toEqual({
    figure: "50 %",
    words: "of the draft tokens were accepted: 4 of 8.",
  });
  const plain = run(undefined, "target");
  for (const round of plain.rounds.values()) Object.assign(round, { drafted: 0, accepted: 0 });
  expect(acceptedOf(plain)).toBe(null);
});
test("copied tokens are counted with their passages", () => {
  expect(copiesOf(run(undefined))).toEqual({
    figure: "50 %",
    words: "of the text was copied from earlier text: 4 of 8 tokens, in 2 passages.",
  });
});
test("the time of rejected tokens is a share of the decode, and that of drafting", () => {
  expect(timeOf(run(undefined))).toEqual({
    figure: "25.0 %",
    words: "of the time, 40.0 µs, went into rejected draft tokens, 5.0 % into drafting.",
  });
  const plain = run(undefined, "target");
  for (const round of plain.rounds.values()) Object.assign(round, { drafted: 0, accepted: 0 });
  expect(timeOf(plain)).toEqual({
    figure: "75.0 %",
    words: "of 40.0 µs is passes of the target, one for each token.",
  });
});
test("a run without tokens has no sentence", () => {
  const empty = run(undefined);
  Object.assign(empty, { tokens: [], calls: [], rounds: new Map() });
  const headlines = [speedOf, acceptedOf, copiesOf, timeOf].map((said) => said(empty));
  expect(headlines).toEqual([null, null, null, null]);
});
