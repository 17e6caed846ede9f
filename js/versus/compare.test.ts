// What two texts of one prompt may and must have in common, by their sampling and rules.
import { expect, test } from "vitest";
import { agreementOf, fastestOf } from "./compare";

const SOURCES = { db: ["context"] };
const run = (
  letter: string,
  stack: string,
  temperature: number,
  ids: number[],
  rule = "block",
): any => ({
  letter,
  tokens: ids.map((id) => ({ token_id: id, text: `t${id}` })),
  meta: { stack, sampling: { temperature, rule }, stop_reason: "length" },
});
const PLAIN = run("A", "target", 0.7, [1, 2, 3]);

test.each([
  [
    "equal texts",
    run("B", "db > target", 0.7, [1, 2, 3]),
    "same",
    /, as required: the same random numbers/,
  ],
  [
    "databases must agree",
    run("B", "db > target", 0.7, [1, 9, 3]),
    "broken",
    /from output position 2 \(A “t2”, B “t9”\). Not allowed/,
  ],
  [
    "a draft model need not",
    run("B", "nano > target", 0.7, [1, 9, 3]),
    "apart",
    /equal in distribution/,
  ],
  [
    "nor need a rule of another package, of which nothing is promised",
    run("B", "nano > target", 0.7, [1, 9, 3], "best"),
    "apart",
    /The rule “best” is of another package: nothing here has checked/,
  ],
] as const)("%s", (_, other, state, words) => {
  const [agreement] = agreementOf([PLAIN, other], SOURCES);
  expect(agreement.state).toBe(state);
  expect(agreement.words).toMatch(words);
});

const STACKS: Record<string, string> = {
  A: "target",
  B: "db > target",
  C: "nano > small > target",
};
/** A run of eight tokens in some passes of the target and some nanoseconds. */
const timed = (letter: string, passes: number, wall_ns: number): any => ({
  letter,
  tokens: Array.from({ length: 8 }, (_, k) => ({ token_id: k, source: "target" })),
  rounds: new Map(Array.from({ length: passes }, (_, id) => [id, { id, level: 0, drafted: 0 }])),
  drafts: new Map(),
  calls: Array.from({ length: passes }, () => ({ level: 0, kind: "verify", duration_ns: 1 })),
  meta: { stack: STACKS[letter], prefill_ns: 0, wall_ns },
});

test("the fastest run comes first, and the one with the fewest passes where it is slower", () => {
  const runs = [timed("A", 8, 800), timed("B", 4, 400), timed("C", 2, 1600)];
  expect(fastestOf(runs)).toEqual({
    figure: "2.00 ×",
    words:
      "the speed of plain decoding, with databases: the fastest of three stacks on one prompt. " +
      "Fewest target passes: 2 by nano, then small, at 0.50 ×: " +
      "its drafts cost more than they save.",
  });
});
test("drafts that save more than they cost are not called a loss", () => {
  const runs = [timed("A", 8, 800), timed("B", 4, 400), timed("C", 2, 500)];
  expect(fastestOf(runs).words).toMatch(/2 by nano, then small, at 1.60 ×: its drafts cost more.$/);
});
test("a run with the fewest passes that is the fastest is named once", () => {
  const fastest = fastestOf([timed("A", 8, 800), timed("B", 4, 400)]);
  expect(fastest.words).toBe(
    "the speed of plain decoding, with databases: the fastest of two stacks on one prompt.",
  );
});
test("plain decoding can be the fastest", () => {
  const fastest = fastestOf([timed("A", 8, 400), timed("B", 8, 800)]);
  const words = "plain decoding is the fastest of two stacks on one prompt.";
  expect(fastest).toEqual({ figure: "1.00 ×", words });
});
